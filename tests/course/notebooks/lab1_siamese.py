# %% [markdown]
# # Lab 1: a siamese network in Trax

# %%
import trax
from trax import layers as tl
import trax.fastmath.numpy as fastnp
import numpy as np
from jax.interpreters.xla import DeviceArray

np.random.seed(10)


# %% Length 1
def normalize(x):
    return x / fastnp.sqrt(fastnp.sum(x * x, axis=-1, keepdims=True))


tensor = np.random.random((2, 5))
print(tensor)
unit = normalize(tensor)
print(unit, unit.dtype, isinstance(unit, DeviceArray))

# %% One tower, used twice
vocab_size = 500
model_dimension = 128

LSTM = tl.Serial(
    tl.Embedding(vocab_size=vocab_size, d_feature=model_dimension),
    tl.LSTM(model_dimension),
    tl.Mean(axis=1),
    tl.Fn("Normalize", lambda x: normalize(x)),
)
Siamese = tl.Parallel(LSTM, LSTM)
print(Siamese)


# %% Its parts
def show_layers(model, layer_prefix):
    for i in range(len(model.sublayers)):
        print(f"{layer_prefix}_{i}: {model.sublayers[i]}")


show_layers(Siamese, "Parallel.sublayers")
show_layers(LSTM, "Serial.sublayers")
print("types:", type(Siamese), type(Siamese.sublayers[0]))

# %%
q1 = np.array([[5, 8, 13, 1], [21, 34, 1, 1]], dtype=np.int32)
Siamese.init(trax.shapes.signature((q1, q1)))
v1, v2 = Siamese((q1, q1[:, ::-1]))
print("shapes:", v1.shape, v2.shape)
print("lengths of 1:", np.allclose(fastnp.sum(v1 * v1, axis=1), 1, atol=1e-5))
