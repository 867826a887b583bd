// SPDX-License-Identifier: Apache-2.0
// One step of an optimiser over n parameters: the contract.
//
// Every function processes its arrays once, element by element. A result may share the buffer of
// the input of the same name; otherwise arrays do not overlap. Alignment: that of a float.
#ifndef SMR_KERNELS_F32_OPTIM_H
#define SMR_KERNELS_F32_OPTIM_H

#include <stddef.h>
#include <stdint.h>

/// The first step of all functions: d = sign * g + weight_decay * p.
struct smr_f32_optim_gradient {
  const float *p, *g;
  float sign;          // 1 or -1
  float weight_decay;  // 0: p is not added, even if infinite or NaN
};

/// Stochastic gradient descent: b = momentum * buffer + keep * d (d if `buffer` is NULL), p_new = p
/// - lr * (nesterov ? d + momentum * b : b). Without momentum, b is d and is not stored.
struct smr_f32_sgd {
  struct smr_f32_optim_gradient gradient;
  const float *buffer;
  float *p_new, *buffer_new;  // buffer_new is NULL without momentum
  float lr, momentum, keep;
  int nesterov;
};

/// Adam: m_new = beta1 * m + (1 - beta1) * d, v_new = beta2 * v + (1 - beta2) * d^2,
/// p_new = decay * p - step * m_new / (sqrt(v_new) * root + epsilon).
struct smr_f32_adam {
  struct smr_f32_optim_gradient gradient;
  const float *m, *v;
  float *p_new, *m_new, *v_new;
  float beta1, beta2, rest1, rest2;  // rest: 1 - beta, rounded once
  float decay, step, root, epsilon;
};

/// RMSprop: a = alpha * average + (1 - alpha) * d^2. Centred: c = alpha * mean + (1 - alpha) * d,
/// and max(a - c^2, 0) replaces a below. q = d / (sqrt(a) + epsilon). With momentum: b = momentum *
/// buffer + q, p_new = p - lr * b; otherwise p_new = p - lr * q.
struct smr_f32_rmsprop {
  struct smr_f32_optim_gradient gradient;
  const float *average, *mean, *buffer;  // mean: centred only; buffer: momentum only
  float *p_new, *average_new, *mean_new, *buffer_new;
  float lr, alpha, rest, epsilon, momentum;
};

struct smr_f32_optim_kernels {
  void (*sgd)(size_t n, const struct smr_f32_sgd *args);
  void (*adam)(size_t n, const struct smr_f32_adam *args);
  void (*rmsprop)(size_t n, const struct smr_f32_rmsprop *args);
  const char *name;  // for profiles, e.g. "f32_optim__avx2"
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_optim_kernels *smr_f32_optim_kernels(uint32_t isa);

#endif
