/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym, dlvsym, dlopen and dlmopen as tail jumps. What they answer depends on their caller's return address (RTLD_NEXT,
 * RTLD_DEFAULT in a local plugin, RUNPATH, $ORIGIN), so the real one must see it as if we were not there. In assembly,
 * because compilers make a call of it without optimisation and under sanitizers.
 *
 * Each asks a function of loader_calls.cpp what to do, with the arguments it was called with, and gets two words back:
 *   rax = where to jump to, or 0: the answer is in rdx
 *   rdx = dlsym, dlvsym: the name to ask for;  dlopen, dlmopen: the flags
 */
#if !defined(__x86_64__)
#error "x86-64 only"
#endif

    .text

/* Keeps the three argument registers around the question, and the stack aligned. */
.macro ask question
    endbr64
    pushq   %rdi
    .cfi_adjust_cfa_offset 8
    pushq   %rsi
    .cfi_adjust_cfa_offset 8
    pushq   %rdx
    .cfi_adjust_cfa_offset 8
    call    \question
    movq    %rdx, %rcx
    popq    %rdx
    .cfi_adjust_cfa_offset -8
    popq    %rsi
    .cfi_adjust_cfa_offset -8
    popq    %rdi
    .cfi_adjust_cfa_offset -8
.endm

.macro exported name
    .globl  \name
    .type   \name, @function
    .p2align 4
\name:
    .cfi_startproc
.endm

.macro finished name
    .cfi_endproc
    .size   \name, . - \name
.endm

    exported dlsym
    ask     vramtrace_plan_dlsym
    testq   %rax, %rax
    jz      1f
    movq    %rcx, %rsi
    jmpq    *%rax
1:  movq    %rcx, %rax
    ret
    finished dlsym

    exported dlvsym
    ask     vramtrace_plan_dlvsym
    testq   %rax, %rax
    jz      1f
    movq    %rcx, %rsi
    jmpq    *%rax
1:  movq    %rcx, %rax
    ret
    finished dlvsym

    exported dlopen
    ask     vramtrace_plan_dlopen
    testq   %rax, %rax
    jz      1f
    movl    %ecx, %esi
    jmpq    *%rax
1:  ret
    finished dlopen

    exported dlmopen
    ask     vramtrace_plan_dlmopen
    testq   %rax, %rax
    jz      1f
    movl    %ecx, %edx
    jmpq    *%rax
1:  ret
    finished dlmopen

    .hidden vramtrace_plan_dlsym
    .hidden vramtrace_plan_dlvsym
    .hidden vramtrace_plan_dlopen
    .hidden vramtrace_plan_dlmopen
    .section .note.GNU-stack, "", @progbits
