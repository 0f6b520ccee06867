# %% [markdown]
# # Lab 3: how good is a siamese network?
#
# A batch of pairs and the vectors that a model gave them, from files. A pair counts as a duplicate
# when the dot product of its two vectors is above the threshold.

# %%
import os
import numpy as np

# %%
q1 = np.load("q1.npy")
q2 = np.load("q2.npy")
v1 = np.load("v1.npy")
v2 = np.load("v2.npy")
y_test = np.load("y_test.npy")
print("q1", q1.shape, "v1", v1.shape, "files", sorted(os.listdir())[:2])

# %%
threshold = 0.7
batch_size = len(y_test)
accuracy = 0
for i in range(batch_size):
    d = np.dot(v1[i], v2[i])
    res = d > threshold
    accuracy += y_test[i] == res
accuracy = accuracy / batch_size
print(f"accuracy {accuracy:.6f}")
