"""Trax 1.4.1 on today's Python and JAX: a quick and quiet import, and the old names put back.

`import siamese.course` does it, by `siamese.course.trax.importing`. Three modules here
have nothing to do with Trax, and every folder may use them: `progress`, `process` and
`atomic`.
"""
