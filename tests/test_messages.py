"""What errors tell their readers to do; else only tests/cli/test_flags_in_messages.py looks at wording.

Other tests look at an error's class and at the names in it (tests/helpers/refusals.py).
"""

import functools

import numpy as np
import pytest
from refusals import refuses
from small_models import make_detector
from trax import layers as tl
from trax.shapes import signature

from siamese import (
    ArgumentError,
    DataError,
    DuplicateDetector,
    QuestionIndex,
    QuestionPairs,
    Siamese,
    SiameseError,
    TripletLoss,
    TripletLossFn,
    data_generator,
    duplicate_groups,
    fast_forward,
    read_pairs,
    train_model,
)

ONE = np.array([[2, 3]], np.int32)
small_siamese = functools.partial(Siamese, 12, 6)


def batches():
    return data_generator([[5, 6], [7]], [[5], [7, 8]], batch_size=2)


def train(model=small_siamese, loss=TripletLoss, first=None, **options):
    return train_model(model, loss, first or batches(), batches(), None, **options)


# Whom the message helps -> the call, and what it says.
COURSE = {
    "a layer where a function is asked": (
        lambda: train(loss=TripletLoss()),
        ["pass the function TripletLoss itself", "functools.partial", "not PureLayer"],
    ),
    "the loss of vectors where the layer's function is asked": (
        lambda: train(loss=TripletLossFn),
        ["pass the function TripletLoss itself", "not the function TripletLossFn"],
    ),
    "a model where a function is asked": (
        lambda: train(model=small_siamese()),
        ["pass the function Siamese itself", "not Parallel"],
    ),
    "a generator that is not called": (
        lambda: train(first=data_generator),
        ["must be an endless iterator of batches", "such as data_generator(...)"],
    ),
    "a rate where a schedule is asked": (
        lambda: train(lr_schedule=0.01),
        ["lr_schedule must be a function of the step, not float"],
    ),
    "a model without weights": (
        lambda: small_siamese()((ONE, ONE)),
        ["The model has no weights yet: use loop.eval_model, init_from_file or init"],
    ),
    "one signature for two": (
        lambda: small_siamese().init(signature(ONE)),
        ["Siamese takes two questions: give a pair of signatures"],
    ),
    "another model to make faster": (
        lambda: fast_forward(tl.Dense(3)),
        ["takes the course's model alone", "Train this one as it is"],
    ),
}


@pytest.mark.parametrize("name", COURSE)
def test_an_error_of_the_course_says_what_to_do(name):
    call, words = COURSE[name]
    with refuses(ArgumentError, *words):
        call()


LAZY = type("Lazy", (), {"columns": [], "collect": 0})
# The same of the tool.
TOOL = {
    "shares of a split that are none": (
        lambda: QuestionPairs(["a"], ["b"], [1]).split_by_cluster((0.5, 0.6)),
        ["fractions", "add to 1"],
    ),
    "many tables for one": (
        lambda: read_pairs({"train": {"question": ["a"]}}),
        ["column 'train' must", "of many tables give one"],
    ),
    "a table that is not read yet": (
        lambda: read_pairs(LAZY()),
        ["a lazy one must be collected"],
    ),
    "half a number for an id": (
        lambda: QuestionIndex.build(make_detector(), ["how"], ids=[1.5]),
        ["An id must be"],
    ),
    "a threshold beyond all cosines": (
        lambda: duplicate_groups(np.eye(2, dtype=np.float32), 5),
        ["threshold must be a number from -1 to 1; it is 5"],
    ),
    "a model that is not there": (
        lambda: DuplicateDetector.load("/none/model"),
        ["There is no model at /none/model"],
    ),
    "an index that is not there": (
        lambda: QuestionIndex.open("/none/index", make_detector()),
        ["no index at /none/index"],
    ),
    "probabilities of a model without a fit": (
        lambda: make_detector().probability("how", "far"),
        ["no calibration"],
    ),
}


@pytest.mark.parametrize("name", TOOL)
def test_an_error_of_the_tool_says_what_to_do(name):
    call, words = TOOL[name]
    with refuses(SiameseError, *words):
        call()


def test_a_generator_that_ends_must_be_endless():
    with refuses(DataError, "ended after 0 batches: it must be endless."):
        train(first=iter([]))


def test_one_question_for_two_must_be_a_pair_of_arrays():
    model = small_siamese()
    model.init(signature((ONE, ONE)))
    with refuses(ArgumentError, "give a pair of arrays, (q1, q2), [batch, length]"):
        model(ONE)
