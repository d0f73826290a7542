"""`load`: from `FILE[:NAME]` to the agent or workflow in it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from sluiceway.agent import Agent
from sluiceway.errors import ConfigurationError
from sluiceway.graphs import CommittedWorkflow, Workflow

__all__ = ["Loaded", "load", "load_agent", "load_all", "load_object"]

Loaded = Agent | Workflow | CommittedWorkflow
_KINDS = (Agent, Workflow, CommittedWorkflow)
_DEFAULT_NAME = "agent"


def load(target: str) -> Loaded:
    """Return the agent or workflow that a file defines.

    Args:
        target: `FILE` or `FILE:NAME`. Without a name: the only agent or workflow in the file,
            else the only agent, else the one named `agent`.

    Raises:
        ConfigurationError: No such file, a file that fails, or nothing in it to run; the text
            names what is there.
    """
    path, name = _parted(target)
    module = _module(path)
    if name is not None:
        found = _found(module)
        if name in found:
            return found[name]
        value = vars(module).get(name)
        what = "no such name" if value is None else f"a {type(value).__name__} has that name"
        raise ConfigurationError(f"{path}: no agent or workflow {name!r} ({what}); there are: {_names(found)}")
    return _the_one(path, _found(module))


def load_agent(target: str) -> Agent:
    """Return the agent of a file, or an echo agent with the file's workflow as its input processor.

    Raises:
        ConfigurationError: See `load`.
    """
    loaded = load(target)
    if isinstance(loaded, Agent):
        return loaded
    return Agent(id=f"{loaded.id}-agent", model="echo/echo", input_processors=[loaded])


def load_all(target: str) -> list[Loaded]:
    """Return the agents of a file, each once, or its only workflow where it has no agent.

    Args:
        target: `FILE` or `FILE:NAME`; with a name only what it names.

    Raises:
        ConfigurationError: See `load`.
    """
    path, name = _parted(target)
    if name is not None:
        return [load(target)]
    module = _module(path)
    agents = {id(value): value for key, value in vars(module).items() if isinstance(value, Agent) and key[:1] != "_"}
    return [*agents.values()] if agents else [_the_one(path, _found(module))]


def load_object(target: str) -> object:
    """Return whatever has a name in a file.

    Args:
        target: `FILE:NAME`.

    Raises:
        ConfigurationError: No name was given, no such file, a file that fails, or no such name in it.
    """
    path, name = _parted(target)
    if name is None:
        raise ConfigurationError(f"{target}: which name in it? Give FILE:NAME")
    there = vars(_module(path))
    if name not in there:
        names = ", ".join(key for key in there if key[:1] != "_") or "none"
        raise ConfigurationError(f"{path}: there is no {name!r} in it; there are: {names}")
    return there[name]


def _parted(target: str) -> tuple[Path, str | None]:
    path = Path(target)
    if path.exists() or ":" not in target:
        return path, None
    file, _, name = target.rpartition(":")
    return Path(file), name


def _module(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigurationError(f"{path}: no such file")
    spec = importlib.util.spec_from_file_location(f"_sluiceway_app_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ConfigurationError(f"{path}: could not be loaded: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)
    return module


def _found(module: ModuleType) -> dict[str, Loaded]:
    return {key: value for key, value in vars(module).items() if isinstance(value, _KINDS) and key[:1] != "_"}


def _the_one(path: Path, found: dict[str, Loaded]) -> Loaded:
    agents = {name: value for name, value in found.items() if isinstance(value, Agent)}
    for candidates in (found, agents):
        if len({id(value) for value in candidates.values()}) == 1:
            return next(iter(candidates.values()))
    if _DEFAULT_NAME in found:
        return found[_DEFAULT_NAME]
    if not found:
        raise ConfigurationError(f"{path}: there is no agent or workflow in it")
    raise ConfigurationError(f"{path}: which one? Give {path}:NAME with one of: {_names(found)}")


def _names(found: dict[str, Loaded]) -> str:
    return ", ".join(found) or "none"
