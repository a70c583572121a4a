# Read by the build of llama-cpp-python, see environment.sh. Leaves out llama.cpp's
# library for its own programs: half of the compile time, and nothing here uses it.
set(LLAMA_BUILD_COMMON OFF)
