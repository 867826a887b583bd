// SPDX-License-Identifier: Apache-2.0
// Sizes that trade memory for speed.
#ifndef SMR_BASE_LEAN_H
#define SMR_BASE_LEAN_H

/// The size of a buffer that only affects speed: `lean` on bare metal, which has kilobytes of
/// memory and no caches to fill. Results do not depend on it.
#if defined(SMR_BARE_METAL)
#define SMR_LEAN(roomy, lean) (lean)
#else
#define SMR_LEAN(roomy, lean) (roomy)
#endif

#endif
