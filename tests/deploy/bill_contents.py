"""Fails unless the bill of materials on standard input names our package, what it is linked to, and licences.
Usage: bill_contents.py <sbom.cdx.json"""

import json
import sys

bill = json.load(sys.stdin)
components = {
    component["name"]: component for component in bill["components"] if "arch=source" not in component["purl"]
}
for name in ("znni", "libc6", "libgrpc++1.51", "libstdc++6"):
    if not components.get(name, {}).get("version"):
        sys.exit(f"the bill of materials lacks {name}")
licensed = sum("licenses" in component for component in bill["components"])
if licensed < 20:
    sys.exit(f"the bill of materials has {licensed} licences; at least 20 are expected")
print(f"the bill of materials: {len(components)} packages, {licensed} licences")
