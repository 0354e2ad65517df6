"""Names of Java classes, packages and static methods, asked for once.

PySpark names the same few classes again and again, and each time py4j asks the JVM for each part of a name. For a part
that is a package the JVM looks through three hundred archives; a query's start would do that some hundred times.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView


class _View(JVMView):  # type: ignore[misc]  # py4j has no types
    """The names at the beginning: `jvm.org`, and `jvm.functions` for a class that was imported."""

    def __getattr__(self, name: str) -> Any:
        return _remember(self, name, super().__getattr__(name))


class _Package(JavaPackage):  # type: ignore[misc]  # py4j has no types
    """The names in a package."""

    def __getattr__(self, name: str) -> Any:
        return _remember(self, name, super().__getattr__(name))


class _Class(JavaClass):  # type: ignore[misc]  # py4j has no types
    """The names in a class; static fields may change, so they are asked for each time."""

    def __getattr__(self, name: str) -> Any:
        return _remember(self, name, super().__getattr__(name))


_REMEMBERING: dict[type, type] = {JVMView: _View, JavaPackage: _Package, JavaClass: _Class}


def remember_names(view: Any) -> None:
    """Let this view of a JVM remember what it has found. It is one JVM's: another one has another view."""
    if type(view) is JVMView:
        view.__class__ = _View


def _remember(holder: Any, name: str, found: Any) -> Any:
    if type(found) in _REMEMBERING:
        found.__class__ = _REMEMBERING[type(found)]
    # A name that is no class now may become one by an import, unless it looks like a part of a package.
    if isinstance(found, JavaClass | JavaMember) or (isinstance(found, JavaPackage) and name.islower()):
        vars(holder)[name] = found
    return found
