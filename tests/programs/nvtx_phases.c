/* SPDX-License-Identifier: Apache-2.0
 * Every way of NVTX to name a range: plain, wide, by attributes, by a registered string, in a domain, with an id. What
 * NVTX itself answers must be the same with and without a tool, as far as a program may look at it. */
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

static void touch(size_t bytes) {
    void* memory = NULL;
    if (cudaMalloc(&memory, bytes) != cudaSuccess) exit(3);
    cudaFree(memory);
}

static nvtxEventAttributes_t attributes(void) {
    nvtxEventAttributes_t made;
    memset(&made, 0, sizeof made);
    made.version = NVTX_VERSION;
    made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    return made;
}

static void* ends(void* id) {
    nvtxRangeEnd(*(nvtxRangeId_t*)id);
    return NULL;
}

static void job(nvtxDomainHandle_t domain, nvtxStringHandle_t registered) {
    const int level = nvtxRangePushA("plain");
    touch(1001);
    nvtxEventAttributes_t named = attributes();
    named.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    named.message.registered = registered;
    nvtxDomainRangePushEx(domain, &named);
    touch(1003);
    nvtxRangePop(); /* "plain" ends although the domain's range lies in it */
    touch(1005);
    nvtxDomainRangePop(domain);
    nvtxRangePushW(L"w\u00e9\u4e2d\U0001f600");
    touch(1007);
    nvtxRangePop();
    nvtxRangeId_t id = nvtxRangeStartA("crossing");
    pthread_t thread;
    touch(1009);
    pthread_create(&thread, NULL, ends, &id);
    pthread_join(thread, NULL);
    nvtxEventAttributes_t nameless = attributes();
    nvtxRangePushEx(&nameless);
    touch(1011);
    nvtxRangePop();
    nvtxMarkA("mark");
    printf("%d\n", level);
}

int main(int argc, char** argv) {
    nvtxDomainHandle_t domain = nvtxDomainCreateA("lib");
    nvtxStringHandle_t registered = nvtxDomainRegisterStringA(domain, "registered");
    if (argc > 1 && strcmp(argv[1], "fork") == 0) {
        const pid_t child = fork();
        if (child == 0) {
            job(domain, registered);
            fflush(stdout);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        return status == 0 ? 0 : 4;
    }
    job(domain, registered);
    return 0;
}
