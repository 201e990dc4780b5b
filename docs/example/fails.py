import torch

image = torch.randn(4, 512)
text = torch.randn(6, 768)
distance = torch.cdist(image, text)
