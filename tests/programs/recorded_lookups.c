/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Talks to the driver exactly as a statically linked CUDA 13.0 runtime does: one dlopen, one dlsym, then the recorded
 * look-ups in their order with a null status, then only private pointers.
 * Usage: recorded_lookups FILE   (lines: "name ver=N fl=N -> symbol")
 * Prints a line per look-up:
 *   lookup NAME VERSION FLAGS CODE EXPECTED_SYMBOL FOUND_SYMBOL same|other|none
 * where the last word compares the answer with dlsym's for the expected symbol.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*resolver_type)(const char*, void**, int, unsigned long long, void*);

struct pointers {
    int (*init)(unsigned int);
    int (*device_get)(int*, int);
    int (*retain)(void**, int);
    int (*set_current)(void*);
    int (*alloc)(unsigned long long*, size_t);
    int (*free_device)(unsigned long long);
};

static void die(const char* what, int code) {
    printf("FAIL %s: %d\n", what, code);
    exit(1);
}

static void keep(struct pointers* table, const char* symbol, void* found) {
    if (strcmp(symbol, "cuInit") == 0) memcpy(&table->init, &found, sizeof found);
    if (strcmp(symbol, "cuDeviceGet") == 0) memcpy(&table->device_get, &found, sizeof found);
    if (strcmp(symbol, "cuDevicePrimaryCtxRetain") == 0) memcpy(&table->retain, &found, sizeof found);
    if (strcmp(symbol, "cuCtxSetCurrent") == 0) memcpy(&table->set_current, &found, sizeof found);
    if (strcmp(symbol, "cuMemAlloc_v2") == 0) memcpy(&table->alloc, &found, sizeof found);
    if (strcmp(symbol, "cuMemFree_v2") == 0) memcpy(&table->free_device, &found, sizeof found);
}

static void allocate(const struct pointers* table) {
    int device = 0;
    void* context = NULL;
    unsigned long long first = 0;
    unsigned long long leaked = 0;
    if (table->init(0) != 0 || table->device_get(&device, 0) != 0 || table->retain(&context, device) != 0 ||
        table->set_current(context) != 0) {
        die("no context", 0);
    }
    if (table->alloc(&first, 80001) != 0) die("cuMemAlloc", 1);
    printf("expect cuMemAlloc_v2 80001\n");
    if (table->alloc(&leaked, 80003) != 0) die("cuMemAlloc", 2);
    printf("expect cuMemAlloc_v2 80003\n");
    if (table->free_device(first) != 0) die("cuMemFree", 0);
    printf("kept cuMemAlloc_v2 80003\n");
}

int main(int argc, char** argv) {
    struct pointers table;
    resolver_type resolver = NULL;
    void* address;
    void* driver;
    FILE* file;
    char line[512];
    int count = 0;
    memset(&table, 0, sizeof table);
    if (argc < 2) die("usage: recorded_lookups FILE", 0);
    file = fopen(argv[1], "re");
    if (file == NULL) die("cannot open the recorded look-ups", 0);
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL) die("no driver", 0);
    address = dlsym(driver, "cuGetProcAddress_v2");
    if (address == NULL) die("no cuGetProcAddress_v2", 0);
    memcpy(&resolver, &address, sizeof address);

    while (fgets(line, sizeof line, file) != NULL) {
        char name[128] = "";
        char expected[128] = "";
        int version = 0;
        unsigned long long flags = 0;
        void* found = NULL;
        void* by_name;
        const char* verdict = "none";
        Dl_info information;
        int code;
        const char* rest = strstr(line, " ver=");
        if (rest == NULL || rest - line >= (long)sizeof name) continue;
        memcpy(name, line, (size_t)(rest - line));
        if (sscanf(rest, " ver=%d fl=%llu -> %127s", &version, &flags, expected) != 3) continue;
        code = resolver(name, &found, version, flags, NULL);
        ++count;
        by_name = strcmp(expected, "NOT_FOUND") == 0 ? NULL : dlsym(driver, expected);
        memset(&information, 0, sizeof information);
        if (found != NULL) {
            verdict = found == by_name ? "same" : "other";
            dladdr(found, &information);
            keep(&table, expected, found);
        }
        printf("lookup %s %d %llu %d %s %s %s\n", name[0] != '\0' ? name : "-", version, flags, code, expected,
               information.dli_sname != NULL ? information.dli_sname : "-", verdict);
    }
    fclose(file);
    printf("lookups %d\n", count);
    if (table.init == NULL || table.device_get == NULL || table.retain == NULL || table.set_current == NULL ||
        table.alloc == NULL || table.free_device == NULL) {
        die("a needed function was not found", count);
    }
    allocate(&table);
    return 0;
}
