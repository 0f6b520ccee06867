"""The Trax course's assignment: its functions, on today's Python and JAX.

Importing it imports Trax and NLTK, in three seconds and without TensorFlow, and mends
them; `siamese doctor` lists what is mended. Where Trax is not installed, what needs
none still works.
"""

import warnings

from siamese.course.trax.importing import import_trax, mend
from siamese.nn import similarity
from siamese.system.process import keeping_generators
from siamese.text.punkt import provide_punkt

__all__ = ["similarity"]  # Notebook 1 asks for it here.

import_trax()
# NLTK's import draws random numbers, and what it imports filters warnings.
with keeping_generators(), warnings.catch_warnings():
    import nltk
mend(provide_punkt, nltk)
