/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for a library that keeps one workspace for each handle and stream until it is told to forget them. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
void stand_in_matmul(void* stream, size_t workspace_bytes);
void stand_in_destroy_handle(void);
#ifdef __cplusplus
}
#endif
