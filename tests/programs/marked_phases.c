/* SPDX-License-Identifier: Apache-2.0
 * Uses <vramtrace.h> as a program would: ranges before and after the first allocation, nested, across threads, one pop
 * too many; recording stopped and started again. With "fork", the child does the same once more. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/api/vramtrace.h"

static void* allocate(size_t bytes) {
    void* memory = NULL;
    if (cudaMalloc(&memory, bytes) != cudaSuccess) exit(3);
    return memory;
}

static uint64_t crossing;

static void* other_thread(void* unused) {
    (void)unused;
    vramtrace_range_push("worker");
    void* memory = allocate(300001); /* inside main's "step" too */
    vramtrace_range_pop();
    cudaFree(memory);
    vramtrace_range_end(crossing);
    return NULL;
}

static void job(void) {
    vramtrace_range_push("load"); /* before there is a trace */
    void* weights = allocate(1000001);
    vramtrace_range_pop();
    for (int i = 0; i < 3; ++i) {
        vramtrace_range_push("step");
        vramtrace_mark("begins");
        void* activations = allocate(500003);
        vramtrace_range_push("forward");
        void* leaked = allocate(70001);
        (void)leaked;
        vramtrace_range_pop();
        cudaFree(activations);
        if (i == 0) {
            crossing = vramtrace_range_start("crossing");
            pthread_t thread;
            pthread_create(&thread, NULL, other_thread, NULL);
            pthread_join(thread, NULL);
        }
        vramtrace_range_pop();
    }
    vramtrace_range_pop(); /* one too many */
    vramtrace_stop();
    void* unseen = allocate(900001);
    cudaFree(weights);
    vramtrace_start();
    cudaFree(unseen);
    void* small = allocate(100);
    cudaFree(small);
}

int main(int argc, char** argv) {
    const int fork_first = argc > 1 && strcmp(argv[1], "fork") == 0;
    vramtrace_range_start("unfinished");
    if (fork_first) {
        const pid_t child = fork();
        if (child == 0) {
            job();
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0) return 4;
    }
    printf("recording %d\n", vramtrace_is_recording());
    job();
    char directory[4096];
    const size_t bytes = vramtrace_trace_directory(directory, sizeof directory);
    printf("directory %zu %s\n", bytes, directory);
    return 0;
}
