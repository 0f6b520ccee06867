"""The package's public names: each loads, and none is also the name of a module."""

import importlib
import pkgutil

import siamese


def test_public_names_load_and_stay_when_their_modules_are_imported():
    rooms = {module.name for module in pkgutil.iter_modules(siamese.__path__)}
    # Importing siamese.x sets the attribute x of the package: a function x would be gone.
    assert not rooms & set(siamese.__all__)
    for name, room in siamese._EXPORTS.items():
        module = importlib.import_module(f"siamese.{room}")
        assert getattr(siamese, name) is getattr(module, name)
        assert callable(getattr(siamese, name))
