# SPDX-License-Identifier: Apache-2.0
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Werror)
# Warnings that follow the optimiser's guesses differ from compiler to compiler (g++ 14 sees overflows in std::vector's own
# growth): shown, but no reason for a build to fail on somebody's machine.
add_compile_options(-Wno-error=stringop-overflow -Wno-error=array-bounds -Wno-error=maybe-uninitialized
                    -Wno-error=stringop-overread -Wno-error=restrict)
