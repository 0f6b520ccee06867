"""The assignment: similarity, loss, model, generator, train_model, classify and predict."""
