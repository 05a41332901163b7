"""dm_pix: an image that is flipped, in each way of calling, and changed in colour, blurred, cropped and moved."""

import dm_pix as pix
import jax
import numpy as np

image = np.random.RandomState(0).rand(12, 10, 3).astype(np.float32)
flipped = pix.flip_left_right(image), jax.jit(pix.flip_left_right)(image)
many = jax.vmap(pix.flip_left_right)(image[None]), jax.pmap(pix.flip_left_right)(image[None])
key = jax.random.PRNGKey(1)
result = (
    flipped, many, pix.adjust_hue(image, 0.2), pix.adjust_saturation(image, 1.5), pix.rgb_to_hsv(image),
    pix.gaussian_blur(image, 1.0, 3), pix.random_crop(key, image, (5, 5, 3)), pix.random_brightness(key, image, 0.3),
    pix.psnr(image, image * 0.9), pix.ssim(image, image * 0.9), pix.rotate(image, 0.3), pix.resize_with_crop_or_pad(image, 8, 14),
)  # fmt: skip
