// SPDX-License-Identifier: Apache-2.0
// The NPU's queue: one worker executes jobs in the order of their tickets.
#include "npu.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static void execute(const struct npu_job *job) {
  if (job->program == NULL) {
    memcpy(job->to, job->from, job->size_bytes);
    return;
  }
  for (uint32_t i = job->first; i < job->first + job->count; i++) {
    const struct npu_command *command = &job->program->commands[i];
    command->op->run(command);
  }
}

static void *work(void *argument) {
  struct npu_device *device = argument;
  pthread_mutex_lock(&device->lock);
  for (;;) {
    while (device->finished == device->queued && !device->closing)
      pthread_cond_wait(&device->begin, &device->lock);
    if (device->finished == device->queued) break;
    const uint64_t ticket = device->finished + 1;
    const struct npu_job job = device->jobs[ticket % NPU_QUEUE];
    if (ticket == device->fail_at) device->lost_at = ticket;
    const bool lost = device->lost_at != 0;
    pthread_mutex_unlock(&device->lock);
    if (!lost) execute(&job);
    pthread_mutex_lock(&device->lock);
    device->finished = ticket;
    pthread_cond_broadcast(&device->end);
  }
  pthread_mutex_unlock(&device->lock);
  return NULL;
}

bool npu_queue_start(struct npu_device *device) {
  return pthread_create(&device->worker, NULL, work, device) == 0;
}

void npu_queue_stop(struct npu_device *device) {
  pthread_mutex_lock(&device->lock);
  device->closing = true;
  pthread_cond_broadcast(&device->begin);
  pthread_mutex_unlock(&device->lock);
  pthread_join(device->worker, NULL);
}

uint64_t npu_queue_push(struct npu_device *device, const struct npu_job *job) {
  pthread_mutex_lock(&device->lock);
  while (device->queued - device->finished == NPU_QUEUE)
    pthread_cond_wait(&device->end, &device->lock);
  const uint64_t ticket = ++device->queued;
  device->jobs[ticket % NPU_QUEUE] = *job;
  if (job->program != NULL) job->program->last_ticket = ticket;
  pthread_cond_signal(&device->begin);
  pthread_mutex_unlock(&device->lock);
  return ticket;
}

// The time `timeout_ns` from now, on the clock of pthread_cond_timedwait.
static struct timespec deadline_after(uint64_t timeout_ns) {
  struct timespec at;
  timespec_get(&at, TIME_UTC);
  const uint64_t second = 1000000000, ns = (uint64_t)at.tv_nsec + timeout_ns % second;
  at.tv_sec += (time_t)(timeout_ns / second + ns / second);
  at.tv_nsec = (long)(ns % second);
  return at;
}

bool npu_queue_wait(struct npu_device *device, uint64_t ticket, uint64_t timeout_ns) {
  const uint64_t for_ever = UINT64_C(1) << 60;  // 36 years
  pthread_mutex_lock(&device->lock);
  if (timeout_ns >= for_ever) {
    while (device->finished < ticket) pthread_cond_wait(&device->end, &device->lock);
  } else if (timeout_ns != 0 && device->finished < ticket) {
    const struct timespec at = deadline_after(timeout_ns);
    int late = 0;
    while (device->finished < ticket && late != ETIMEDOUT)
      late = pthread_cond_timedwait(&device->end, &device->lock, &at);
  }
  const bool done = device->finished >= ticket;
  pthread_mutex_unlock(&device->lock);
  return done;
}
