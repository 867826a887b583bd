// SPDX-License-Identifier: Apache-2.0
// Devices for the command line programs: --backend and --cache.
#ifndef SAMARA_TOOLS_DEVICE_H
#define SAMARA_TOOLS_DEVICE_H

#include "tool.h"

#if SAMARA_WITH_BACKENDS
#include <samara/samara_backend.h>
#endif

#define TOOL_DEVICE_USAGE                                                                      \
  "  --backend NAME        run on a device: opencl, opencl:1, or the path of a library that\n" \
  "                        has a backend; auto: on opencl if that is faster\n"                 \
  "  --cache DIR           where to store compiled programs and measured rates\n"

/// The options, and the device once it is open.
struct tool_device {
  const char *name, *cache;  // NULL if not given
  samara_backend *backend;
  int automatic;
};

/// Whether argument `*i` is one of these options.
static inline int tool_device_option(int argc, char **argv, int *i, struct tool_device *device) {
  const char *v;
  if ((v = tool_option(argc, argv, i, "--backend")) != NULL)
    device->name = v;
  else if ((v = tool_option(argc, argv, i, "--cache")) != NULL)
    device->cache = v;
  else
    return 0;
  return 1;
}

/// Open the device if one is given.
static inline int tool_device_open(struct tool_device *device) {
  if (device->name == NULL || strcmp(device->name, "cpu") == 0) return 0;
#if SAMARA_WITH_BACKENDS
  const int automatic = device->automatic = strcmp(device->name, "auto") == 0;
  const int built_in = automatic || strncmp(device->name, "opencl", 6) == 0;
  const samara_backend_options own = {.struct_size = sizeof own,
                                      .name = automatic  ? "opencl"
                                              : built_in ? device->name
                                                         : NULL,
                                      .library = built_in ? NULL : device->name,
                                      .cache_folder = device->cache,
                                      .log = tool_log};
  samara_error error = {.text = ""};
  const samara_status status = samara_backend_open(&own, &device->backend, &error);
  if (status == SAMARA_NOT_FOUND && automatic) {
    fprintf(stderr, "auto: the CPU, because %s\n", error.text);
    return 0;
  }
  if (status != SAMARA_OK) return tool_error("--backend %s: %s", device->name, error.text);
  return 0;
#else
  return tool_lacks("backends");
#endif
}

/// Add it to a session's options.
static inline void tool_device_set(const struct tool_device *device,
                                   samara_session_options *options) {
  if (device->backend == NULL) return;
  options->backends = &device->backend;
  options->backend_count = 1;
  options->backend_auto = options->backend_wait = device->automatic != 0;
}

static inline void tool_device_close(struct tool_device *device) {
#if SAMARA_WITH_BACKENDS
  samara_backend_close(device->backend);
#endif
  device->backend = NULL;
}

/// Whether the choice between CPU and devices is final; else more runs are needed.
static inline int tool_device_settled(const samara_session *session) {
#if SAMARA_WITH_BACKENDS
  samara_backend_report report = {.struct_size = sizeof report};
  return samara_session_backend_report(session, &report) != SAMARA_OK || report.settled;
#else
  (void)session;
  return 1;
#endif
}

/// Print `, "device": …` and its counters as fields of JSON; nothing for the CPU alone.
static inline void tool_device_print(const struct tool_device *device,
                                     const samara_session *session) {
#if SAMARA_WITH_BACKENDS
  samara_device_info info = {.struct_size = sizeof info};
  samara_backend_report report = {.struct_size = sizeof report};
  if (device->backend == NULL || samara_backend_device(device->backend, &info) != SAMARA_OK ||
      samara_session_backend_report(session, &report) != SAMARA_OK)
    return;
  printf(
      ", \"device\": \"%s\", \"regions\": %u, \"device_nodes\": %u, \"device_bytes\": %llu"
      ", \"launches\": %llu",
      info.name, (unsigned)report.regions, (unsigned)report.nodes,
      (unsigned long long)report.device_bytes, (unsigned long long)report.launches);
  if (report.failure[0] != '\0') printf(", \"failure\": \"%s\"", report.failure);
#else
  (void)device;
  (void)session;
#endif
}

#endif
