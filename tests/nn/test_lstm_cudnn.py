"""The cuDNN path without a GPU: JAX's own reference stands in for the one call that runs there."""

import warnings
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import rnn

from siamese.errors import ArgumentError
from siamese.nn import lstm as lstm_module
from siamese.nn import lstm_cudnn
from siamese.nn.lstm import lstm, lstm_pooled
from siamese.nn.lstm_cudnn import cudnn_agrees, cudnn_states, pack_weights

BATCH, LENGTH, D_IN, D_MODEL = 5, 7, 3, 4
MASKS = {
    "none": None,
    "ragged": np.arange(LENGTH) < np.array([0, 1, 3, 5, LENGTH])[:, None],
    "holes": np.random.RandomState(3).rand(BATCH, LENGTH) < 0.5,
}


def example(seed=0):
    draw = np.random.RandomState(seed)
    shapes = (D_IN + D_MODEL, 4 * D_MODEL), (4 * D_MODEL,), (BATCH, LENGTH, D_IN)
    return tuple(jnp.asarray(draw.randn(*shape).astype(np.float32)) for shape in shapes)


def reference_call(x, h, c, weights, lengths, sizes):
    """What cuDNN computes, by JAX's reference, on cuDNN's own arguments."""
    parts = rnn.unpack_lstm_weights(weights, *sizes[:3], sizes[4])
    return rnn.lstm_ref(x, h, c, *parts, lengths, *sizes)


@pytest.fixture
def stand_in(monkeypatch):
    """Puts the reference in the place of JAX's two cuDNN primitives, and counts their calls."""
    calls = {"forward": 0, "backward": 0}

    def sizes_of(options):
        assert options["cudnn_allow_tf32"] is False
        names = "input_size", "hidden_size", "num_layers", "dropout", "bidirectional"
        return tuple(options[name] for name in names)

    def forward(x, h, c, weights, lengths, **options):
        calls["forward"] += 1
        return *reference_call(x, h, c, weights, lengths, sizes_of(options)), jnp.zeros(1)

    def backward(dy, dh, dc, x, h, c, weights, y, reserve, lengths, **options):
        calls["backward"] += 1
        sizes = sizes_of(options)
        run = lambda x, h, c, weights: reference_call(x, h, c, weights, lengths, sizes)  # noqa: E731
        dx, dh, dc, dw = jax.vjp(run, x, h, c, weights)[1]((dy, dh, dc))
        # Nothing says what cuDNN writes behind a row's length.
        behind = jnp.arange(x.shape[1]) >= lengths[:, None]
        return jnp.where(behind[:, :, None], jnp.nan, dx), dh, dc, dw

    monkeypatch.setattr(rnn, "rnn_fwd_p", SimpleNamespace(bind=forward))
    monkeypatch.setattr(rnn, "rnn_bwd_p", SimpleNamespace(bind=backward))
    cudnn_agrees.cache_clear()
    yield calls
    cudnn_agrees.cache_clear()


@pytest.fixture
def as_if_here(stand_in, monkeypatch):
    """Takes this machine's CPU for the platform on which cuDNN runs."""
    monkeypatch.setattr(lstm_module, "_CUDA", "cpu")
    monkeypatch.setattr(lstm_module, "cudnn_is_there", lambda: True)
    return stand_in


def test_packed_weights_are_what_jax_unpacks():
    kernel, bias, _ = example()
    packed = pack_weights(kernel, bias)
    assert packed.shape == (rnn.get_num_params_in_lstm(D_IN, D_MODEL, 1, False),)
    wx, wh, bx, bh = rnn.unpack_lstm_weights(packed, D_IN, D_MODEL, 1, False)
    gates = {name: slice(k * D_MODEL, (k + 1) * D_MODEL) for k, name in enumerate("ijfo")}
    for place, name in enumerate("ifjo"):  # cuDNN: input, forget, candidate, output.
        here = slice(place * D_MODEL, (place + 1) * D_MODEL)
        np.testing.assert_array_equal(wx[0][here], kernel[:D_IN, gates[name]].T)
        np.testing.assert_array_equal(wh[0][here], kernel[D_IN:, gates[name]].T)
        np.testing.assert_array_equal(bx[0][here], bias[gates[name]])
    assert not np.any(bh[0])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", MASKS)
def test_states_equal_the_scan(stand_in, kind, reverse):
    arguments, mask = example(1), MASKS[kind]
    found = cudnn_states(*arguments, mask, reverse)
    expected = lstm(*arguments, mask, reverse=reverse, implementation="scan")
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert stand_in["forward"] == 1


@pytest.mark.parametrize("what", ["states", "mean", "max"])
@pytest.mark.parametrize("kind", MASKS)
def test_chosen_by_platform_it_equals_the_scan_in_value_and_gradient(as_if_here, kind, what):
    arguments, mask = example(2), MASKS[kind]
    shape = (BATCH, LENGTH, D_MODEL) if what == "states" else (BATCH, D_MODEL)
    direction = np.random.RandomState(4).randn(*shape).astype(np.float32)

    def loss(implementation, *values):
        if what == "states":
            out = lstm(*values, mask, reverse=True, implementation=implementation)
        else:
            out = lstm_pooled(
                *values, mask, pooling=what, reverse=True, implementation=implementation
            )
        return jnp.sum(out * direction)

    def both(implementation):
        run = jax.value_and_grad(lambda *v: loss(implementation, *v), argnums=(0, 1, 2))
        return jax.tree_util.tree_leaves(jax.jit(run)(*arguments))

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # The check of itself must not fall back.
        found = both(None)
    assert as_if_here["forward"] and as_if_here["backward"]
    for a, b in zip(found, both("scan")):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * float(jnp.abs(b).max()))


@pytest.mark.parametrize(("platform", "taken"), [("cpu", True), ("cuda", False)])
def test_the_platform_that_runs_the_call_decides(as_if_here, monkeypatch, platform, taken):
    # Where a GPU is there, but this call is for the CPU, the scan runs.
    monkeypatch.setattr(lstm_module, "_CUDA", platform)
    monkeypatch.setattr(lstm_module, "cudnn_agrees", lambda scan: True)
    marked = jnp.full((BATCH, LENGTH, D_MODEL), 7.0)
    monkeypatch.setattr(lstm_module, "cudnn_states", lambda *arguments: marked)
    # A new function each time: JAX keeps what it traced, the choice included, by function.
    found = np.asarray(jax.jit(lambda *arguments: lstm_pooled(*arguments))(*example(3)))
    assert np.allclose(found, 7) == taken


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_other_precisions_run_the_scan(as_if_here, dtype):
    kernel, bias, x = example()
    assert lstm(kernel, bias, x.astype(dtype)).dtype == dtype
    assert not as_if_here["forward"]


def test_results_that_differ_are_found_and_the_scan_runs(as_if_here, monkeypatch):
    monkeypatch.setattr(
        lstm_cudnn,
        "pack_weights",
        lambda kernel, bias: pack_weights(jnp.roll(kernel, D_MODEL, axis=1), bias),
    )
    arguments = example()
    with pytest.warns(UserWarning, match="differ from the scan's"):
        found = lstm(*arguments)
    np.testing.assert_array_equal(found, lstm(*arguments, implementation="scan"))
    with pytest.raises(ArgumentError, match="needs float32"):
        lstm(*arguments, implementation="cudnn")


def test_a_gradient_that_differs_is_found(as_if_here, monkeypatch):
    right = rnn.rnn_bwd_p.bind

    def wrong(*arguments, **options):
        *others, dw = right(*arguments, **options)
        return *others, 1.01 * dw

    monkeypatch.setattr(rnn, "rnn_bwd_p", SimpleNamespace(bind=wrong))
    with pytest.warns(UserWarning, match="differ from the scan's"):
        lstm(*example())


def test_a_library_that_fails_leaves_the_scan(as_if_here, monkeypatch):
    def fails(*arguments, **options):
        raise RuntimeError("no cuDNN handle")

    monkeypatch.setattr(rnn, "rnn_fwd_p", SimpleNamespace(bind=fails))
    with pytest.warns(UserWarning, match="RuntimeError: no cuDNN handle"):
        found = lstm(*example())
    np.testing.assert_array_equal(found, lstm(*example(), implementation="scan"))


def test_nan_counts_as_different(as_if_here, monkeypatch):
    monkeypatch.setattr(lstm_cudnn, "pack_weights", lambda *a: pack_weights(*a) * jnp.nan)
    with pytest.warns(UserWarning, match="differ"):
        lstm(*example())


@pytest.mark.skipif(jax.default_backend() == "gpu", reason="a GPU is there")
def test_without_a_gpu_it_is_refused_by_name():
    assert not lstm_cudnn.cudnn_is_there()
    with pytest.raises(ArgumentError, match="one NVIDIA GPU"):
        lstm(*example(), implementation="cudnn")
