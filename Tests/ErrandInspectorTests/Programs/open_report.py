"""Opens a report in headless Chromium, and prints what a user finds in it as a JSON object.

open_report.py <browser> <report> <folder for pictures> [plain]: uses the DevTools protocol through a pipe, without packages. A plain
visit reads neither names nor contrasts, which takes most of the time in a report of many exchanges.
"""
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

browser, report, pictures = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3])
is_plain = "plain" in sys.argv[4:]


class Page:
    """A page of the browser."""

    def __init__(self, profile):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()

        def connect():
            # The browser reads from descriptor 3 and writes to 4.
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--disable-background-networking", "--disable-component-update", "--no-first-run", "--lang=en",
             f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session, self.problems, self.events = b"", 0, None, [], []

    def receive(self):
        while b"\0" not in self.buffer:
            data = os.read(self.input, 1 << 20)
            if not data:
                raise EOFError("the browser has ended")
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(message)
        self.note(message)
        return message

    def note(self, message):
        """Keeps what a console would show as an error, and each request beyond the page."""
        method, params = message.get("method"), message.get("params", {})
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"])[:400])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(json.dumps(params["args"])[:400])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"][:400])
        elif method == "Network.requestWillBeSent" and params["request"]["url"].split("#")[0] != report.as_uri():
            self.problems.append("requested " + params["request"]["url"][:200])
        elif method == "Page.javascriptDialogOpening":
            self.problems.append("dialog")

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            response = self.receive()
            if response.get("id") == self.number:
                if "error" in response:
                    raise RuntimeError(f"{method}: {response['error']}")
                return response["result"]

    def wait(self, event):
        while event not in self.events:
            self.receive()

    def attach(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network", "DOM"] + ([] if is_plain else ["Accessibility"]):
            self.call(domain + ".enable")

    def open(self):
        self.events = []
        self.call("Page.navigate", url=report.as_uri())
        self.wait("Page.loadEventFired")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return result["result"].get("value")

    def key(self, key, text=None):
        codes = {"Tab": 9, "Enter": 13, " ": 32}
        name = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0]))}
        if text or key in ("Enter", " "):
            name["text"] = text or {"Enter": "\r", " ": " "}[key]
        self.call("Input.dispatchKeyEvent", type="keyDown", **name)
        self.call("Input.dispatchKeyEvent", type="keyUp", **name)

    def accessible(self):
        """The roles and names of the accessibility tree."""
        if is_plain:
            return []
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(node.get("role", {}).get("value", ""), node.get("name", {}).get("value", ""))
                for node in nodes if not node.get("ignored")]

    def picture(self, name, width, height, scheme, full=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        data = self.call("Page.captureScreenshot", format="png")["data"]
        (pictures / f"{name}.png").write_bytes(base64.b64decode(data))
        return self.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def inspect(page):
    page.attach()
    page.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
    page.open()
    found = {"rows": page.value("document.querySelectorAll('ol.rows > li').length"),
             "hacked": page.value("document.hacked ?? null"),
             "elements": page.value("document.querySelectorAll('script, style, img, iframe, object, link').length")}
    found["names"] = page.accessible()
    fits = [page.picture("light", 1280, 800, "light"), page.picture("dark", 1280, 800, "dark"),
            page.picture("phone", 390, 844, "light")]
    found["contrast"] = {scheme: contrast(page, scheme) for scheme in ("light", "dark") if not is_plain}
    page.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
    if found["rows"]:
        # The slash moves to the filter, without the mouse.
        page.key("/", "/")
        found["focused"] = page.value("document.activeElement.id")
        page.call("Input.insertText", text="/profile")
        found["matching"] = page.value("document.querySelectorAll('ol.rows > li:not([hidden])').length")
        found["shown"] = page.value("document.getElementById('shown').textContent")
        page.value("text.value=''; text.dispatchEvent(new Event('input'))")
        found["failed"] = page.value(
            "document.querySelector('[data-kind=failed]')?.click();"
            "document.querySelectorAll('ol.rows > li:not([hidden])').length")
        page.value("document.querySelector('[data-kind=all]').click()")
        # From the filter with the keyboard alone to the first exchange.
        page.value("document.getElementById('toggle').focus()")
        page.key("Tab")
        page.key("Enter")
        found["opened"] = page.value("document.activeElement.parentElement.open === true")
        found["openNames"] = page.accessible()
        fits += [page.picture("open-light", 1280, 900, "light"), page.picture("open-dark", 1280, 900, "dark"),
                 page.picture("open-phone", 390, 844, "light")]
        page.value("document.querySelector('.loads a')?.click()")
    found["fits"] = fits
    found["problems"] = page.problems
    return found


def contrast(page, scheme):
    """The smallest contrast of a text with its background (WCAG 2.2)."""
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    return page.value("""(() => {
      const parse = text => (text.match(/[\\d.]+/g) ?? []).map(Number);
      const light = color => { const [r, g, b] = color.map(part => {
        part /= 255; return part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4; });
        return .2126 * r + .7152 * g + .0722 * b; };
      const back = element => { for (let node = element; node; node = node.parentElement) {
        const color = parse(getComputedStyle(node).backgroundColor);
        if (color.length === 3 || color[3] === 1) return color; } return [255, 255, 255]; };
      let least = 99;
      for (const element of document.querySelectorAll('body *')) {
        if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
        if (element.closest('script, style, title, .skip')) continue;
        const one = light(parse(getComputedStyle(element).color)), two = light(back(element));
        least = Math.min(least, (Math.max(one, two) + .05) / (Math.min(one, two) + .05));
      }
      return Math.round(least * 100) / 100;
    })()""")


with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
    page = Page(profile)
    try:
        print(json.dumps(inspect(page)))
    finally:
        page.process.kill()
        page.process.wait()
