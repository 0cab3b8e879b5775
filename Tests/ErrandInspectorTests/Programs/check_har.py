"""Checks an archive with the JSON schema of HAR 1.2, and opens it with two readers.

check_har.py <folder of the schema> <archive>: prints a JSON object with the violations and the numbers of entries.
"""
import json
import pathlib
import sys

# The format of IRIs, which no schema of HAR uses, takes more than a second to be imported.
sys.modules["rfc3987_syntax"] = None

from haralyzer import HarParser
from hario_core.parse import parse
from jsonschema import Draft6Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT6

folder, path = pathlib.Path(sys.argv[1]), sys.argv[2]
schemas = {file.name: json.loads(file.read_text()) for file in folder.glob("*.json")}
registry = Registry().with_resources(
    (name + suffix, Resource(contents=schema, specification=DRAFT6))
    for name, schema in schemas.items() for suffix in ("", "#"))
with open(path, encoding="utf-8") as file:
    archive = json.load(file)
# Formats are asserted, because an address has to be either IPv4 or IPv6.
validator = Draft6Validator(schemas["har.json"], registry=registry, format_checker=Draft6Validator.FORMAT_CHECKER)
violations = [f"{list(error.absolute_path)}: {error.message[:200]}" for error in validator.iter_errors(archive)]
with open(path, encoding="utf-8") as file:
    haralyzer = HarParser(json.load(file))
print(json.dumps({
    "violations": violations,
    "haralyzer": len(haralyzer.har_data["entries"]),
    "haralyzerRequests": [entry.request.method + " " + str(entry.response.status) for page in haralyzer.pages
                          for entry in page.entries],
    "hario": len(parse(path).entries),
}))
