"""dm_pix: changes of images, random ones with keys, and measures of how two differ; eager, jitted, and their gradients."""

import dm_pix as pix
import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
IMAGE, OTHER = (jnp.asarray(rng.uniform(size=(12, 10, 3)).astype(np.float32)) for _ in range(2))
KEY = jax.random.PRNGKey(0)
TURN = jnp.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
PLACES = jnp.array([[1.5, 2.2], [3.0, 4.7], [0.0, 1.0]])
FUNCTIONS = {
    "adjust_brightness": lambda x: pix.adjust_brightness(x, 0.2),
    "adjust_contrast": lambda x: pix.adjust_contrast(x, 1.5),
    "adjust_gamma": lambda x: pix.adjust_gamma(x, 2.0),
    "adjust_hue": lambda x: pix.adjust_hue(x, 0.1),
    "adjust_saturation": lambda x: pix.adjust_saturation(x, 1.4),
    "elastic_deformation": lambda x: pix.elastic_deformation(KEY, x, 1.0, 0.5),
    "flip_up_down": pix.flip_up_down,
    "gaussian_blur": lambda x: pix.gaussian_blur(x, 1.0, 5),
    "rot90": lambda x: pix.rot90(x, 1),
    "solarize": lambda x: pix.solarize(x, 0.5),
    "affine_transform": lambda x: pix.affine_transform(x, TURN),
    "rotate": lambda x: pix.rotate(x, 0.3),
    "rgb_to_grayscale": pix.rgb_to_grayscale,
    "hsv": lambda x: pix.hsv_to_rgb(pix.rgb_to_hsv(x)),
    "space_to_depth": lambda x: pix.space_to_depth(x, 2),
    "psnr": lambda x: pix.psnr(x, OTHER),
    "ssim": lambda x: pix.ssim(x, OTHER, filter_size=5),
    "simse": lambda x: pix.simse(x, OTHER),
    "random_brightness": lambda x: pix.random_brightness(KEY, x, 0.3),
    "random_contrast": lambda x: pix.random_contrast(KEY, x, 0.5, 1.5),
    "random_crop": lambda x: pix.random_crop(KEY, x, (6, 5, 3)),
    "random_flip": lambda x: pix.random_flip_left_right(KEY, x),
    "random_hue": lambda x: pix.random_hue(KEY, x, 0.2),
    "crop_or_pad": lambda x: pix.resize_with_crop_or_pad(x, 14, 7),
    "interpolate": lambda x: pix.flat_nd_linear_interpolate(x, PLACES.T),
}

PROGRAMS = {
    **{name: lambda f=f: f(IMAGE) for name, f in FUNCTIONS.items()},
    **{f"{name}_jitted": lambda f=f: jax.jit(f)(IMAGE) for name, f in FUNCTIONS.items()},
    **{f"{name}_gradient": lambda f=f: jax.grad(lambda x: f(x).sum())(IMAGE) for name, f in FUNCTIONS.items()},
}
