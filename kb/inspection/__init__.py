"""What a program that died had in its hands: the tensors and modules of the expression that failed, and which of them does not fit."""
