"""Writes one tiny package for each ecosystem, as files that any web server can
hand out: a cargo registry, a Go proxy, an npm registry and a Python index. For npm
and Python there is a chain besides, link-1 to link-30, each of which needs the next.

    python3 build.py <folder> <address of the folder>
"""

import base64
import hashlib
import io
import json
import os
import sys
import tarfile
import zipfile

folder, address = sys.argv[1], sys.argv[2]


def write(path, data):
    path = os.path.join(folder, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def packed(files, mode="w:gz"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


# cargo: a sparse index and one crate
crate = packed({
    "twice-1.0.0/Cargo.toml": '[package]\nname = "twice"\nversion = "1.0.0"\nedition = "2021"\n',
    "twice-1.0.0/src/lib.rs": "pub fn twice(n: i32) -> i32 { n * 2 }\n",
})
write("cargo/config.json", json.dumps({"dl": f"{address}/crates/{{crate}}-{{version}}.crate"}))
write("cargo/tw/ic/twice", json.dumps({
    "name": "twice", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
    "cksum": hashlib.sha256(crate).hexdigest(),
}) + "\n")
write("crates/twice-1.0.0.crate", crate)

# Go: the files of a module proxy
module = "example.com/twice"
mod = f"module {module}\n\ngo 1.18\n"
source = "package twice\n\nfunc Twice(n int) int { return n * 2 }\n"
write(f"go/{module}/@v/list", "v1.0.0\n")
write(f"go/{module}/@v/v1.0.0.info", json.dumps({"Version": "v1.0.0", "Time": "2024-01-01T00:00:00Z"}))
write(f"go/{module}/@v/v1.0.0.mod", mod)
write(f"go/{module}/@v/v1.0.0.zip", zipped({
    f"{module}@v1.0.0/go.mod": mod, f"{module}@v1.0.0/twice.go": source,
}))


# What go.sum holds: a hash over the hashes of the files, by name.
def go_hash(files):
    lines = "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(files.items()))
    return "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()


write("go.sum", (
    f"{module} v1.0.0 " + go_hash({
        f"{module}@v1.0.0/go.mod": mod, f"{module}@v1.0.0/twice.go": source,
    }) + f"\n{module} v1.0.0/go.mod " + go_hash({"go.mod": mod}) + "\n"
))

LINKS = 30


def needed(number):
    return f"link-{number + 1}" if number < LINKS else None


# npm: the document of a package, and its archive
def npm_package(name, source, dependency=None):
    about = {"name": name, "version": "1.0.0", "main": "index.js"}
    if dependency:
        about["dependencies"] = {dependency: "1.0.0"}
    archive = packed({"package/package.json": json.dumps(about), "package/index.js": source})
    shasum = hashlib.sha1(archive).hexdigest()
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
    tarball = f"{address}/npm/{name}/-/{name}-1.0.0.tgz"
    day = "2020-01-01T00:00:00.000Z"
    write(f"npm/{name}/-/{name}-1.0.0.tgz", archive)
    write(f"npm/{name}/index", json.dumps({
        "name": name, "dist-tags": {"latest": "1.0.0"},
        "time": {"created": day, "modified": day, "1.0.0": day},
        "versions": {"1.0.0": about | {
            "dist": {"tarball": tarball, "integrity": integrity, "shasum": shasum},
        }},
    }))
    return tarball, integrity, shasum


tarball, integrity, shasum = npm_package("twice", "module.exports = (n) => n * 2;\n")
for number in range(1, LINKS + 1):
    npm_package(f"link-{number}", "", needed(number))
write("package-lock.json", json.dumps({
    "name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": True,
    "packages": {
        "": {"name": "app", "version": "1.0.0", "dependencies": {"twice": "1.0.0"}},
        "node_modules/twice": {"version": "1.0.0", "resolved": tarball, "integrity": integrity},
    },
}))
write("yarn.lock", f"""# yarn lockfile v1


twice@1.0.0:
  version "1.0.0"
  resolved "{tarball}#{shasum}"
  integrity {integrity}
""")
write("pnpm-lock.yaml", f"""lockfileVersion: '9.0'

settings:
  autoInstallPeers: true
  excludeLinksFromLockfile: false

importers:

  .:
    dependencies:
      twice:
        specifier: 1.0.0
        version: 1.0.0

packages:

  twice@1.0.0:
    resolution: {{integrity: {integrity}}}

snapshots:

  twice@1.0.0: {{}}
""")


# Python: an index with two wheels and a source package's build backend of our own
def wheel(name, version, files, dependency=None):
    meta = f"{name}-{version}.dist-info"
    files = dict(files)
    files[f"{meta}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    if dependency:
        files[f"{meta}/METADATA"] += f"Requires-Dist: {dependency}\n"
    files[f"{meta}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{meta}/RECORD"] = "".join(f"{path},,\n" for path in files) + f"{meta}/RECORD,,\n"
    return f"{name}-{version}-py3-none-any.whl", zipped(files)


# A stand-in for the real one, which would need half a dozen others: runs every
# `test_*` function and prints what the real one prints.
PYTEST = '''
import glob, importlib.util, sys
passed = failed = 0
for path in sorted(glob.glob("tests/test_*.py")):
    spec = importlib.util.spec_from_file_location("t", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        tests = [getattr(module, name) for name in dir(module) if name.startswith("test_")]
    except Exception as error:
        print(path, error)
        tests = [None]
    for test in tests:
        try:
            test()
            passed += 1
        except Exception as error:
            print(path, repr(error))
            failed += 1
print(f"{failed} failed, {passed} passed in 0.01s" if failed else f"{passed} passed in 0.01s")
sys.exit(1 if failed else 0)
'''

# The smallest build backend: an editable install is a path file.
BACKEND = '''
import os, zipfile
NAME, VERSION = "app", "1.0.0"
META = f"{NAME}-{VERSION}.dist-info"
def _meta(extra=""):
    return f"Metadata-Version: 2.1\\nName: {NAME}\\nVersion: {VERSION}\\nRequires-Dist: twice\\nProvides-Extra: test\\nRequires-Dist: pytest; extra == \\"test\\"\\n"
def _build(folder):
    name = f"{NAME}-{VERSION}-py3-none-any.whl"
    files = {
        f"_{NAME}.pth": os.path.join(os.getcwd(), "src"),
        f"{META}/METADATA": _meta(),
        f"{META}/WHEEL": "Wheel-Version: 1.0\\nGenerator: tests\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    files[f"{META}/RECORD"] = "".join(f"{path},,\\n" for path in files) + f"{META}/RECORD,,\\n"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return name
def build_wheel(folder, config_settings=None, metadata_directory=None):
    return _build(folder)
def build_editable(folder, config_settings=None, metadata_directory=None):
    return _build(folder)
def build_sdist(folder, config_settings=None):
    raise NotImplementedError
'''

wheels = {
    "twice": ({"twice/__init__.py": "def twice(n):\n    return n * 2\n"}, None),
    "pytest": ({"pytest/__init__.py": "", "pytest/__main__.py": PYTEST}, None),
    "tiny_backend": ({"tiny_backend.py": BACKEND}, None),
}
for number in range(1, LINKS + 1):
    wheels[f"link_{number}"] = ({f"link_{number}.py": ""}, needed(number))
for name, (files, dependency) in wheels.items():
    file, data = wheel(name, "1.0.0", files, dependency)
    write(f"wheels/{file}", data)
    digest = hashlib.sha256(data).hexdigest()
    write(f"simple/{name.replace('_', '-')}/index", (
        "<!DOCTYPE html><html><body>"
        f'<a href="{address}/wheels/{file}#sha256={digest}">{file}</a></body></html>'
    ))
