"""What is shipped, and what the repository says about itself: the wheel, the metadata, the locks, and what no tracked file may hold."""

import re
import shutil
import subprocess
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import sealpoint

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = METADATA["project"]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))

_MACHINE_PATH = re.compile(r"(?<![\w.~*$}>)-])/(?:home|root|tmp|work|Users)/\w")
_INDEX = re.compile(
    r"py[p]i\.org|python[h]osted|registry[.]npmjs|deb[.]debian[.]org|--(?:extra-)?index[-]url|--find[-]links|--trusted[-]host"
)


@pytest.fixture
def installed() -> Distribution:
    try:
        return distribution("sealpoint")
    except PackageNotFoundError:
        pytest.skip("the package is not installed but linked; `make test` runs on the wheel")


def modules(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.py")}


def lower_bounds() -> dict[str, Version]:
    """The lowest version that the metadata allows of each dependency, extras included."""
    return {item.name: min(Version(clause.version) for clause in item.specifier if clause.operator == ">=") for item in declared()}


def pins(lock: Path) -> dict[str, list[str]]:
    """The versions that a lock names for each package; more than one where they differ by Python."""
    found: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?==([\w.!+]+)", lock.read_text(encoding="utf-8"), re.MULTILINE):
        found.setdefault(name, []).append(version)
    return found


def declared() -> list[Requirement]:
    """Every dependency of the package, extras included."""
    extras = PROJECT["optional-dependencies"].values()
    return [Requirement(text) for texts in (PROJECT["dependencies"], *extras) for text in texts]


def test_the_packages_listed_are_the_folders_there_are():
    folders = {"sealpoint", *(".".join(("sealpoint", *path.parent.relative_to(SOURCE).parts)) for path in SOURCE.rglob("*.py"))}
    assert sorted(METADATA["tool"]["setuptools"]["packages"]) == sorted(folders)
    assert all((SOURCE.joinpath(*name.split(".")[1:]) / "__init__.py").is_file() for name in folders)


def test_what_is_tested_is_what_is_installed_and_is_this_very_tree(installed):
    where = Path(str(installed.locate_file("sealpoint")))
    assert Path(sealpoint.__file__).parent == where
    assert modules(where) == modules(SOURCE)


def test_the_wheel_holds_the_package_its_types_marker_the_licence_and_nothing_else(installed):
    held = {path.as_posix() for path in installed.files or ()}
    assert "sealpoint/py.typed" in held
    assert any(re.fullmatch(r"sealpoint-[\d.]+\.dist-info/licenses/LICENSE", path) for path in held)
    other = {path for path in held if not re.match(r"sealpoint(-[\d.]+\.dist-info)?/", path)}
    assert other <= {"../../../bin/sealpoint"}


def test_the_metadata_is_that_of_the_project_file(installed):
    assert installed.version == PROJECT["version"]
    assert installed.metadata["License-Expression"] == "MIT"
    assert installed.metadata["Requires-Python"] == ">=3.11"
    assert set(installed.metadata.get_all("Provides-Extra") or ()) == set(PROJECT["optional-dependencies"])


def test_every_command_that_is_promised_exists(installed):
    (command,) = installed.entry_points.select(group="console_scripts")
    assert command.name == "sealpoint"
    assert callable(command.load())


def test_no_upper_bound_on_python():
    assert "<" not in PROJECT["requires-python"]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_every_line_of_a_lock_has_its_hash(lock):
    text = re.sub(r"\\\n", " ", lock.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert lines
    assert [line for line in lines if not re.match(r"[\w.-]+(\[[\w,]+\])?==\S+.*--hash=sha256:[0-9a-f]{64}", line)] == []


@pytest.mark.parametrize("lock", [lock for lock in LOCKS if lock.stem not in ("build", "lock")], ids=lambda lock: lock.stem)
def test_a_lock_satisfies_the_metadata(lock):
    locked = pins(lock)
    assert {Requirement(text).name for text in PROJECT["dependencies"]} <= set(locked)
    for requirement in declared():
        for version in locked.get(requirement.name, ()):
            assert requirement.specifier.contains(version), f"{requirement} is locked at {version}: run make lock"


def test_the_oldest_lock_tries_the_lower_bounds_of_the_metadata():
    locked, lowest = pins(ROOT / "requirements" / "oldest.txt"), lower_bounds()
    assert {name: [Version(text) for text in locked[name]] for name in lowest} == {name: [low] for name, low in lowest.items()}


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    git = shutil.which("git")
    listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False) if git else None
    if listed is None or listed.returncode or not listed.stdout:
        pytest.skip("not a git checkout, so which files are tracked is not known")
    return [path for name in listed.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize("forbidden", [_MACHINE_PATH, _INDEX], ids=["path of a machine", "address of an index"])
def test_no_tracked_file_holds_a(forbidden, tracked):
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in tracked}
    found = [f"{path.relative_to(ROOT)}: {match.group()}" for path, text in texts.items() for match in forbidden.finditer(text)]
    assert found == []
