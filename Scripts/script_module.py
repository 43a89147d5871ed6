# SPDX-License-Identifier: MIT
"""Makes a script of this folder a module for another one."""

import importlib.machinery
import importlib.util
import pathlib


def load(name: str):
    """The script as a module; set `sys.dont_write_bytecode` before, or a compiled copy stays beside it."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(pathlib.Path(__file__).resolve().parent / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
