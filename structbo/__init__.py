"""Bayesian optimization that learns the structure of the objective, as NumPyro models."""
