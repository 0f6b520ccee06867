"""Changes one line of a solution in `exercise_solutions`: a wrong solution as learners write it."""

import inspect
import linecache

import exercise_solutions


def changed(name, *replacements):
    """The solution `name` with texts replaced: ``changed("f", "old", "new", "old2", "new2")``."""
    source = inspect.getsource(getattr(exercise_solutions, name))
    for old, new in zip(replacements[::2], replacements[1::2]):
        assert old in source, f"{old!r} does not stand in {name}"
        source = source.replace(old, new)
    scope = dict(vars(exercise_solutions))
    file = f"<{name} {len(linecache.cache)}>"  # where inspect and tracebacks find its lines
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), scope)
    return scope[name]


def failed_hints(score):
    """All that the failures of a score say."""
    return "\n".join(f"{f.case} | {f.expected} | {f.actual} | {f.hint}" for f in score.failures)
