"""Makes a corpus of hostile and damaged ``.pkl.gz`` and ``.npy.gz`` files.

Every file that could run something would create the file `canary`.
Nothing here is loaded by this script: it only makes bytes.
"""

import gzip
import io
import os
import pickle
import struct
from functools import partial

import numpy as np

ZEROS = 120 << 20  # What the bombs unpack to: 120 MB from some hundred kilobytes.


class Calls:
    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def text(content):
    raw = content.encode() if isinstance(content, str) else content
    return b"X" + struct.pack("<I", len(raw)) + raw


def course(weights=b"](e", more=b""):
    """A pickle (without STOP) of a course dict with hand-made parts put into it."""
    facts = text("flat_weights") + weights + text("flat_state") + b"](e"
    return b"\x80\x03}(" + facts + text("input_signature") + b"N" + more + b"u"


RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tC\x01btR"
OBJECTS = b"cnumpy\ndtype\n(X\x02\0\0\0O8\x89\x88tR"
FLOATS = b"cnumpy\ndtype\n(X\x02\0\0\0f4\x89\x88tR"
FOUR_BYTES = b"\x89C\x04aaaatb"


def colliding(count):
    """Keys of a dict that have one hash."""
    return b"".join(
        b"\x8a\x0a" + (i * ((1 << 61) - 1)).to_bytes(10, "little") + b"N"
        for i in range(1, count)
    )


# What stands in the place of the weights, in a course dict.
ARRAYS = {
    "objects": RECONSTRUCT + b"(K\x01(K\x01t" + OBJECTS + b"\x89](cposix\nsystem\netb",
    "objects-as-floats": RECONSTRUCT + b"(K\x01(K\x01t" + FLOATS + b"\x89](K\x01etb",
    "records": b"cnumpy\ndtype\n(X\x05\0\0\0f4,O8\x89\x88tR",
    "vast-shape": RECONSTRUCT + b"(K\x01(J\xff\xff\xff\x7fJ\xff\xff\xff\x7ft" + FLOATS + FOUR_BYTES,
    "short-data": RECONSTRUCT + b"(K\x01(K\x09t" + FLOATS + FOUR_BYTES,
    "list-behind-flags": RECONSTRUCT + b"(K\x01(K\x01t" + FLOATS + b"(K\x03X\x01\0\0\0|NNNK\0K\0K\x3ftb"
    + b"\x89](K\x01etb",
    "bytes-of-an-array": b"cnumpy.core.numeric\n_frombuffer\n(" + RECONSTRUCT + b"(K\x01(K\x01t" + FLOATS
    + FOUR_BYTES + FLOATS + b"(K\x01tX\x01\0\0\0CtR",
    "a-dtype": FLOATS,
    "never-built": RECONSTRUCT,
}  # fmt: skip
WHOLE = {
    "laughs": course(b"](K\x01eq\x00" + (b"0](" + b"h\x00" * 9 + b"eq\x00") * 99) + b".",
    "nested": course(b"]" * 100_000 + b"a" * 99_999) + b".",
    "colliding-keys": course(b"}(" + colliding(3000) + b"u") + b".",
    "claims-4-exabytes": course(b"\x8e" + b"\xff" * 7 + b"\x3fabc") + b".",
    "million-digits": course(b"I" + b"9" * 1_000_000 + b"\n") + b".",
    "pops-the-mark": course(b"](000e") + b".",
    "no-stop": course(),
    "nothing": b"",
    "no-weights": b"}" + text("step") + b"K\x01s.",
    "step-negative": course(more=text("step") + b"J\xff\xff\xff\xff") + b".",
}  # fmt: skip


def calls(command):
    """Opcodes that would run a shell command, or reach for what could; by name."""
    return {
        "GLOBAL": b"cposix\nsystem\n(" + command + b"tR",
        "STACK_GLOBAL": b"\x8c\x05posix\x8c\x06system\x93(" + command + b"tR",
        "STACK_GLOBAL-memo": b"\x8c\x05posixq\x000\x8c\x06systemq\x010h\x00h\x01\x93(" + command + b"tR",
        "INST": b"(" + command + b"iposix\nsystem\n",
        "OBJ": b"(cposix\nsystem\n" + command + b"o",
        "NEWOBJ": b"cbuiltins\nbytes\n(cbuiltins\nmap\n(cposix\nsystem\n](" + command + b"et\x81t\x81",
        "NEWOBJ_EX": b"cbuiltins\nbytes\n(cbuiltins\nmap\n(cposix\nsystem\n](" + command
        + b"et}\x92t}\x92",
        "BUILD-setstate": b"ctypes\nSimpleNamespace\n)R}" + text("__setstate__") + b"cposix\nsystem\nsb"
        + command + b"b",
        "dotted": b"\x8c\x05numpy\x8c\x13core.os.system.call\x93(" + command + b"tR",
        "numpy-load": b"cnumpy\nload\n(" + command + b"tR",
        "jax-fun": b"cjax._src.array\n_reconstruct_array\n(cposix\nsystem\n(" + command + b"tN}tR",
        "PERSID": b"Psystem\n",
        "EXT1": b"\x82\x01",
        "NEXT_BUFFER": b"\x97",
    }  # fmt: skip


def pickles(canary):
    """Yields (name, pickle): each would run code, fill the memory or is not a file of weights."""
    command = f"touch {canary}"
    python = f"open({str(canary)!r}, 'w').close()"
    for protocol in range(6):
        for name, bomb in (
            ("os.system", Calls(os.system, command)),
            ("eval", Calls(eval, python)),
        ):
            yield f"{name}-{protocol}", pickle.dumps({"flat_weights": [bomb]}, protocol)
    yield from WHOLE.items()
    tables = {"op": calls(text(command)), "array": ARRAYS}
    for kind, table in tables.items():
        for name, weights in table.items():
            yield f"{kind}-{name}", course(b"](" + weights + b"e") + b"."


def npys(canary):
    """Yields (name, .npy images): objects, records, lies about the size, damage."""

    def image(array, **options):
        file = io.BytesIO()
        np.save(file, array, **options)
        return file.getvalue()

    def claims(header):
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()

    good = image(np.ones((3, 2), "float32"))
    bomb = np.array([Calls(os.system, f"touch {canary}")], dtype=object)
    yield "objects", image(bomb, allow_pickle=True)
    yield "records", image(np.zeros(2, "f4,i4"))
    fields = "{{'descr': {}, 'fortran_order': False, 'shape': {}, }}\n".format
    yield (
        "header-calls-inside",
        claims(fields("'<f4'", f"(open({str(canary)!r}, 'w'),)")),
    )
    yield "header-nested", claims("(" * 9000 + "\n")
    yield "version-9", b"\x93NUMPY\x09\x00" + good[8:]
    yield "garbage-after", good + b"garbage"


def bomb(head):
    """A small gzip file that unpacks to `head` and hundreds of megabytes of zeros."""
    file = io.BytesIO()
    with gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(head)
        for _ in range(ZEROS >> 20):
            packed.write(bytes(1 << 20))
    return file.getvalue()


def image_header(size):
    header = (
        f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({size},), }}\n".encode()
    )
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def contents(canary):
    """Name of each file of the corpus -> function () -> its bytes."""
    files = {}
    for suffix, images in (("pkl.gz", pickles(canary)), ("npy.gz", npys(canary))):
        for name, content in images:
            files[f"{name}.{suffix}"] = partial(gzip.compress, content, 2)
    # A bomb that is all zeros, and one whose head is a good file that claims as much.
    heads = {
        "bomb": b"",
        "bomb-with-head": b"\x80\x03}(X\x0c\0\0\0flat_weightsB"
        + struct.pack("<I", ZEROS),
        "bomb-with-image": image_header(ZEROS),
    }
    for name, head in heads.items():
        files[f"{name}.pkl.gz"] = partial(bomb, head)
        files[f"{name}.npy.gz"] = partial(bomb, head)
    weights = pickle.dumps({"flat_weights": [], "x": list(range(999))})
    for kind, content in (("pkl", weights), ("npy", image_header(1000) + bytes(1000))):
        for name, damage in DAMAGES.items():
            files[f"gzip-{name}.{kind}.gz"] = partial(damage, content)
    return files


# What is wrong with a gzip file -> function of its content that makes it.
DAMAGES = {
    "cut": lambda content: zipped(content)[: len(zipped(content)) // 2],
    "not": lambda content: content,
    "garbage-after": lambda content: zipped(content) + b"x",
    "wrong-crc": lambda content: zipped(content)[:-8] + b"\0\0\0\1" + zipped(content)[-4:],
}  # fmt: skip


def zipped(content):
    return gzip.compress(content, 2)
