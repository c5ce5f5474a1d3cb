// Letters of tasks and areas: decode_letter answers any input, and what it accepts is encoded to the same bytes.
#include "wire/task_letter.hpp"

#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view image(reinterpret_cast<const char*>(data), size);
  const auto letter = couplet::wire::decode_letter(image);
  if (letter && couplet::wire::encode_letter(*letter) != image) {
    std::abort();
  }
  return 0;
}
