# %% [markdown]
# # The assignment: question duplicates

# %%
import os
import nltk
import trax
from trax import layers as tl
from trax.supervised import training
from trax.fastmath import numpy as fastnp
import numpy as np
import pandas as pd
import random as rnd
from functools import partial
from collections import defaultdict

trax.supervised.trainer_lib.init_random_number_generators(34)
rnd.seed(34)

# %%
nltk.download("punkt")

# %% Part 1: importing the data
data = pd.read_csv("questions.csv")
n_train, n_test = 300, 40
data_train = data[:n_train]
data_test = data[n_train : n_train + n_test]
del data
td_index = (data_train["is_duplicate"] == 1).to_numpy()
td_index = [i for i, is_duplicate in enumerate(td_index) if is_duplicate]
print("duplicates:", len(td_index))

# %%
Q1_train_words = np.array(data_train["question1"][td_index])
Q2_train_words = np.array(data_train["question2"][td_index])
Q1_test_words = np.array(data_test["question1"])
Q2_test_words = np.array(data_test["question2"])
y_test = np.array(data_test["is_duplicate"])

Q1_train = np.empty_like(Q1_train_words)
Q2_train = np.empty_like(Q2_train_words)
vocab = defaultdict(lambda: 0)
vocab["<PAD>"] = 1
for idx in range(len(Q1_train_words)):
    Q1_train[idx] = nltk.word_tokenize(Q1_train_words[idx])
    Q2_train[idx] = nltk.word_tokenize(Q2_train_words[idx])
    for word in Q1_train[idx] + Q2_train[idx]:
        if word not in vocab:
            vocab[word] = len(vocab) + 1
size = len(vocab)

# %%
for idx in range(len(Q1_train)):
    Q1_train[idx] = [vocab[word] for word in Q1_train[idx]]
    Q2_train[idx] = [vocab[word] for word in Q2_train[idx]]
Q1_test = np.empty_like(Q1_test_words)
Q2_test = np.empty_like(Q2_test_words)
for idx in range(len(Q1_test)):
    Q1_test[idx] = [vocab[word] for word in nltk.word_tokenize(Q1_test_words[idx])]
    Q2_test[idx] = [vocab[word] for word in nltk.word_tokenize(Q2_test_words[idx])]
cut_off = int(len(Q1_train) * 0.8)
train_Q1, train_Q2 = Q1_train[:cut_off], Q2_train[:cut_off]
val_Q1, val_Q2 = Q1_train[cut_off:], Q2_train[cut_off:]


# %% The iterator
def data_generator(Q1, Q2, batch_size, pad=1, shuffle=True):
    input1, input2 = [], []
    idx, len_q = 0, len(Q1)
    question_indexes = list(range(len_q))
    if shuffle:
        rnd.shuffle(question_indexes)
    while True:
        if idx >= len_q:
            idx = 0
            if shuffle:
                rnd.shuffle(question_indexes)
        input1.append(Q1[question_indexes[idx]])
        input2.append(Q2[question_indexes[idx]])
        idx += 1
        if len(input1) == batch_size:
            max_len = max(max(len(q) for q in input1), max(len(q) for q in input2))
            max_len = 2 ** int(np.ceil(np.log2(max_len)))
            b1 = [q + [pad] * (max_len - len(q)) for q in input1]
            b2 = [q + [pad] * (max_len - len(q)) for q in input2]
            yield np.array(b1), np.array(b2)
            input1, input2 = [], []


batch_size = 16
res1, res2 = next(data_generator(train_Q1, train_Q2, batch_size))
print("batch:", res1.shape == res2.shape)


# %% Part 2: the model
def Siamese(vocab_size=41699, d_model=128, mode="train"):
    def normalize(x):
        return x / fastnp.sqrt(fastnp.sum(x * x, axis=-1, keepdims=True))

    last = tl.Mean(axis=1), tl.Fn("Normalize", lambda x: normalize(x))
    q_processor = tl.Serial(tl.Embedding(vocab_size, d_model), tl.LSTM(d_model), *last)
    return tl.Parallel(q_processor, q_processor)


print(Siamese())


# %% Part 3: the loss
def TripletLossFn(v1, v2, margin=0.25):
    scores = fastnp.dot(v1, v2.T)
    batch_size = len(scores)
    positive = fastnp.diagonal(scores)
    negative_without_positive = scores - 2.0 * fastnp.eye(batch_size)
    closest_negative = negative_without_positive.max(axis=1)
    negative_zero_on_duplicate = scores * (1.0 - fastnp.eye(batch_size))
    mean_negative = fastnp.sum(negative_zero_on_duplicate, axis=1) / (batch_size - 1)
    triplet_loss1 = fastnp.maximum(0.0, margin - positive + closest_negative)
    triplet_loss2 = fastnp.maximum(0.0, margin - positive + mean_negative)
    return fastnp.mean(triplet_loss1 + triplet_loss2)


def TripletLoss(margin=0.25):
    return tl.Fn("TripletLoss", partial(TripletLossFn, margin=margin))


v1 = np.array([[0.26726124, 0.53452248, 0.80178373], [0.5178918, 0.57543534, 0.63297887]])
v2 = np.array([[0.26726124, 0.53452248, 0.80178373], [-0.5178918, -0.57543534, -0.63297887]])
print("loss:", round(float(TripletLossFn(v2, v1)), 4))
from jax.interpreters.xla import DeviceArray

print("DeviceArray:", isinstance(TripletLossFn(v2, v1), DeviceArray))

# %% Part 4: training
lr_schedule = trax.lr.warmup_and_rsqrt_decay(400, 0.01)


def train_model(
    Siamese, TripletLoss, lr_schedule, train_generator, val_generator, output_dir="model/"
):
    output_dir = os.path.expanduser(output_dir)
    optimizer = trax.optimizers.Adam(0.01)
    train_task = training.TrainTask(
        train_generator, TripletLoss(), optimizer, lr_schedule=lr_schedule
    )
    eval_task = training.EvalTask(labeled_data=val_generator, metrics=[TripletLoss()])
    return training.Loop(Siamese(), train_task, eval_tasks=[eval_task], output_dir=output_dir)


small = partial(Siamese, vocab_size=size, d_model=16)
train_generator = data_generator(train_Q1, train_Q2, batch_size, vocab["<PAD>"])
val_generator = data_generator(val_Q1, val_Q2, batch_size, vocab["<PAD>"])
training_loop = train_model(small, TripletLoss, lr_schedule, train_generator, val_generator)
training_loop.run(5)

# %% Part 5: evaluation
model, signature = small(), trax.shapes.signature((res1, res2))
model.init_from_file("model/model.pkl.gz", weights_only=True, input_signature=signature)


def classify(
    test_Q1, test_Q2, y, threshold, model, vocab, data_generator=data_generator, batch_size=64
):
    accuracy = 0
    for i in range(0, len(test_Q1), batch_size):
        part1, part2 = test_Q1[i : i + batch_size], test_Q2[i : i + batch_size]
        q1, q2 = next(data_generator(part1, part2, batch_size, vocab["<PAD>"], shuffle=False))
        v1, v2 = model((q1, q2))
        for j in range(batch_size):
            res = np.dot(v1[j], v2[j].T) > threshold
            accuracy += int(y[i + j] == res)
    return accuracy / len(test_Q1)


print("accuracy:", 0 <= classify(Q1_test, Q2_test, y_test, 0.7, model, vocab, batch_size=20) <= 1)


# %% Part 6: your own questions
def predict(
    question1, question2, threshold, model, vocab, data_generator=data_generator, verbose=False
):
    q1 = [vocab[word] for word in nltk.word_tokenize(question1)]
    q2 = [vocab[word] for word in nltk.word_tokenize(question2)]
    q1, q2 = next(data_generator([q1], [q2], 1, vocab["<PAD>"]))
    v1, v2 = model((q1, q2))
    d = np.dot(v1[0], v2[0].T)
    if verbose:
        print("Q1 =", q1, "Q2 =", q2)
    return bool(d > threshold)


asked = "When will I see you?", "When can I see you again?"
print("prediction:", predict(*asked, 0.7, model, vocab, verbose=True))
