/// The script of the report: filters, and links that open what they refer to.
enum ReportScript {
    // It reads recorded values only as text, and writes none.
    static let text: StaticString = #"""
        const $ = id => document.getElementById(id);
        const rows = [...document.querySelectorAll("ol.rows > li")];
        const form = $("filters");
        if (form) {
          const input = $("text"), shown = $("shown"), none = $("none"), toggle = $("toggle");
          const kinds = [...form.querySelectorAll("button[data-kind]")];
          const contents = new Map();
          let kind = "all";
          const contentOf = row => {
            if (!contents.has(row)) contents.set(row, row.textContent.toLowerCase());
            return contents.get(row);
          };
          const apply = () => {
            const words = input.value.toLowerCase().trim();
            let count = 0;
            for (const row of rows) {
              const ofKind = kind === "all" || row.dataset.kinds.split(" ").includes(kind);
              row.hidden = !ofKind || (words !== "" && !contentOf(row).includes(words));
              if (!row.hidden) count++;
            }
            shown.textContent = count === rows.length ? "" : `${count} of ${rows.length} shown`;
            none.hidden = count > 0;
          };
          const choose = name => {
            kind = name;
            for (const button of kinds) button.setAttribute("aria-pressed", String(button.dataset.kind === name));
            apply();
          };
          const visible = () => rows.filter(row => !row.hidden).map(row => row.firstElementChild);
          const label = () => {
            const all = visible();
            toggle.textContent = all.length > 0 && all.every(item => item.open) ? "Close all" : "Open all";
          };
          const follow = () => {
            const row = rows.find(row => "#" + row.id === location.hash);
            if (!row) return;
            if (row.hidden) { input.value = ""; choose("all"); }
            row.firstElementChild.open = true;
            row.firstElementChild.firstElementChild.focus({ preventScroll: true });
            row.scrollIntoView({ block: "start" });
          };
          input.addEventListener("input", apply);
          form.addEventListener("submit", event => event.preventDefault());
          for (const button of kinds) button.addEventListener("click", () => choose(button.dataset.kind));
          toggle.addEventListener("click", () => {
            const all = visible(), open = !all.every(item => item.open);
            for (const item of all) item.open = open;
            label();
          });
          for (const row of rows) row.firstElementChild.addEventListener("toggle", label);
          addEventListener("hashchange", follow);
          addEventListener("keydown", event => {
            if (event.key === "/" && document.activeElement !== input) { event.preventDefault(); input.focus(); }
          });
          const measure = () =>
            document.documentElement.style.setProperty("--top", document.querySelector("header").offsetHeight + "px");
          addEventListener("resize", measure);
          form.hidden = false;
          measure();
          apply();
          follow();
        }

        """#
}
