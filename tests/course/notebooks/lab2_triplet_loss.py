# %% [markdown]
# # Lab 2: the modified triplet loss
#
# The matrix of similarities, and the loss with the mean and the closest negative. NumPy alone.

# %%
import numpy as np

# %% [markdown]
# ## Similarity scores


# %%
def cosine_similarity(v1, v2):
    numerator = np.dot(v1, v2)
    denominator = np.sqrt(np.dot(v1, v1)) * np.sqrt(np.dot(v2, v2))
    return numerator / denominator


v1 = np.array([1, 2, 3], dtype=float)
for name, v2 in (
    ("similar", np.array([1, 2, 3.5])),
    ("identical", v1),
    ("opposite", v1 * -1),
    ("dissimilar", np.array([0, -42, 1])),
):
    print(name, f"{cosine_similarity(v1, v2):0.4f}")

# %% [markdown]
# Two batches of vectors: row i of the one is like row i of the other. Two loops, and one product.

# %%
v1 = np.vstack([[1, 2, 3], [9, 8, 7], [-1, -4, -2], [1, -7, 2]])
v2 = v1 + np.random.normal(0, 2, (4, 3))
b = len(v1)
print("batch sizes match:", b == len(v2))

sim_1 = np.zeros([b, b])
for row in range(0, sim_1.shape[0]):
    for col in range(0, sim_1.shape[1]):
        sim_1[row, col] = cosine_similarity(v1[row], v2[col])


# %%
def norm(x):
    return x / np.sqrt(np.sum(x * x, axis=1, keepdims=True))


sim_2 = np.dot(norm(v1), norm(v2).T)
print("outputs are the same:", np.allclose(sim_1, sim_2))

# %% [markdown]
# ## Hard negatives
#
# The positives stand on the diagonal. All else in a row is a negative.

# %%
sim = np.array(
    [
        [0.9, -0.8, 0.3, -0.5],
        [-0.4, 0.5, 0.1, -0.1],
        [0.3, 0.1, -0.4, -0.8],
        [-0.5, -0.2, -0.7, 0.5],
    ]
)
b = sim.shape[0]
sim_ap = np.diag(sim)
sim_an = sim - np.diag(sim_ap)

mean_neg = np.sum(sim_an, axis=1, keepdims=True) / (b - 1)
mask_1 = np.identity(b) == 1  # the diagonal
mask_2 = sim_an > sim_ap.reshape(b, 1)  # negatives above their positive
sim_an_masked = np.copy(sim_an)
sim_an_masked[mask_1 | mask_2] = -2
closest_neg = np.max(sim_an_masked, axis=1, keepdims=True)
print("mean_neg", np.round(mean_neg.ravel(), 4), "closest_neg", closest_neg.ravel())

# %% [markdown]
# ## The loss
#
# Negatives of shape (4, 1) need positives of shape (4, 1). With shape (4,) broadcasting makes a
# matrix of losses: that is how a cell that ran before another was corrected printed 3.783.

# %%
alpha = 0.25
l_1 = np.maximum(mean_neg - sim_ap.reshape(b, 1) + alpha, 0)
l_2 = np.maximum(closest_neg - sim_ap.reshape(b, 1) + alpha, 0)
l_full = l_1 + l_2
print("cost", f"{np.sum(l_full):.3f}")

wrong = np.maximum(mean_neg - sim_ap + alpha, 0) + np.maximum(closest_neg - sim_ap + alpha, 0)
print("cost of a matrix of losses", wrong.shape, f"{np.sum(wrong):.3f}")
