/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for a communication library: device and pinned memory for each communicator, and a one-time rest. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
struct stand_in_communicator;
struct stand_in_communicator* stand_in_create_communicator(int device);
void stand_in_destroy_communicator(struct stand_in_communicator* communicator);
#ifdef __cplusplus
}
#endif
