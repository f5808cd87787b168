/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal handler that asks for device memory, whatever it interrupts. To be run with a driver that refuses everything
 * without a lock or the heap (driver_stub.c): what is tested is the recording of the refusal.
 */
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

int cuMemAlloc_v2(unsigned long long* address, size_t bytes);

static volatile long calls;
static long pause_microseconds;

/* Once: the handler sets it again, so that the program gets on however slow a machine is. */
static void set_timer(void) {
    struct itimerval once = {{0, 0}, {0, pause_microseconds}};
    setitimer(ITIMER_REAL, &once, NULL);
}

static void handle(int number) {
    unsigned long long address = 0;
    (void)number;
    cuMemAlloc_v2(&address, 4096);
    ++calls;
    set_timer();
}

void start_interrupting(long microseconds) {
    struct sigaction action = {0};
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    pause_microseconds = microseconds;
    set_timer();
}

long stop_interrupting(void) {
    pause_microseconds = 0;
    set_timer();
    return calls;
}
