# SPDX-License-Identifier: Apache-2.0
"""A JAX computation; its memory is one arena."""
import jax
import jax.numpy as jnp

x = jnp.ones((512, 512))
print(float((x @ x).sum()), jax.devices()[0].platform)
