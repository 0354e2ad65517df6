"""Every kind of source and sink has what its spec says, and a spec is known without Spark."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from millstream import connectors
from millstream.catalog.address import Address
from millstream.catalog.options import read_options
from millstream.connectors.contract import Connector, Role
from millstream.connectors.registry import CONNECTORS, LATER, connector_for, kinds
from millstream.errors import SettingError

FOLDER = Path(connectors.__path__[0])
every_kind = pytest.mark.parametrize("spec", CONNECTORS.values(), ids=CONNECTORS)


def test_every_folder_with_a_spec_is_registered_under_its_name() -> None:
    assert {file.parent.name for file in FOLDER.glob("*/spec.py")} == set(CONNECTORS)
    assert not set(LATER) & set(CONNECTORS)


@every_kind
def test_each_role_has_its_function(spec: Connector) -> None:
    functions = {Role.STREAM: ("source", "stream"), Role.TABLE: ("source", "table"), Role.SINK: ("sink", "sink")}
    assert spec.roles
    for role, (part, name) in functions.items():
        file = FOLDER / spec.kind / f"{part}.py"
        if role in spec.roles:
            assert callable(getattr(import_module(f"millstream.connectors.{spec.kind}.{part}"), name))
        elif file.exists():
            assert not hasattr(import_module(f"millstream.connectors.{spec.kind}.{part}"), name)


@every_kind
def test_what_is_pushed_has_a_listener_and_nothing_else_has(spec: Connector) -> None:
    assert (FOLDER / spec.kind / "listener.py").exists() == spec.pushed
    if spec.pushed:
        assert callable(import_module(f"millstream.connectors.{spec.kind}.listener").listen)


def test_nobody_asks_which_kind_an_address_is() -> None:
    asks = re.compile(r"(?:source|address)\.kind\s*(?:==|!=|in\b|not in\b)")
    found = [
        str(file)
        for file in FOLDER.parent.rglob("*.py")
        if file.name != "registry.py" and asks.search(file.read_text())
    ]
    assert not found


@every_kind
@pytest.mark.parametrize("role", Role)
def test_the_example_is_an_address_of_each_role(spec: Connector, role: Role) -> None:
    address = Address.parse(f"{spec.kind}:{spec.example}")
    if role in spec.roles and not spec.internal:
        assert connector_for(address, role) is spec
    else:
        with pytest.raises(SettingError, match=f"'{spec.kind}:' is not a kind of {role.value}"):
            connector_for(address, role)
        assert not spec.options(role) or any(spec.options(other) == spec.options(role) for other in spec.roles)


@every_kind
@pytest.mark.parametrize("role", Role)
def test_every_option_has_a_default_and_a_purpose(spec: Connector, role: Role) -> None:
    known = spec.options(role)
    assert set(read_options({}, known, spec.kind)) == set(known)
    assert all(option.what for option in known.values())


def test_each_role_has_kinds() -> None:
    assert all(kinds(role) for role in Role)


def test_specs_load_no_spark() -> None:
    program = "import sys, millstream.connectors.registry; print('pyspark' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
