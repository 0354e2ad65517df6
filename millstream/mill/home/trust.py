"""Checks who owns the checkpoint: states in it are pickled, and whoever wrote them can run code.

So the folders that hold them must belong to the user who runs the mill, or to root, and nobody else may write there.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

from millstream.errors import RunError


def make_ours(folder: Path) -> None:
    """Make a folder in which nobody else can write; if it is there already, it must be such a one."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o755)
    except FileExistsError:
        check_ours(folder)


def check_ours(folder: Path) -> None:
    """Refuse a folder in which another user could have put files."""
    found = folder.stat()
    if found.st_uid not in {os.geteuid(), 0}:
        raise _refusal(folder, f"belongs to {_name(found.st_uid)}", "run as its owner, or give another --checkpoint")
    others = stat.S_IWOTH if _is_own_group(found.st_gid) else stat.S_IWOTH | stat.S_IWGRP
    if found.st_mode & others:
        raise _refusal(folder, "can be written by other users", f"if you trust what is in it: chmod -R go-w {folder}")


def check_file(file: Path) -> None:
    """Refuse a file that is a link, or that another user could have written; it need not be there."""
    if file.is_symlink():
        raise _refusal(file, "is a link", f"move what it leads to into {file.parent}")
    if file.exists():
        check_ours(file)


def check_queries(folder: Path) -> None:
    """The same of the folders of all queries, none of which may lead elsewhere."""
    make_ours(folder)
    for place in (folder, *folder.iterdir()):
        if place.is_symlink():
            raise _refusal(place, "is a link", f"move what it leads to into {place.parent}")
        if place.is_dir():
            check_ours(place)


def _refusal(folder: Path, why: str, hint: str) -> RunError:
    return RunError(f"{folder} {why}: a checkpoint holds Python objects, which could run anything as you\nhelp: {hint}")


def _is_own_group(group: int) -> bool:
    """Whether it is the group that a user has alone: many systems make one for each, and let it write."""
    try:
        me, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return group == me.pw_gid and found.gr_name == me.pw_name and set(found.gr_mem) <= {me.pw_name}


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
