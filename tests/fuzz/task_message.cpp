// Messages of tasks and areas: decode_task_message answers any input, and what it accepts is encoded to the same bytes.
#include "wire/task_message.hpp"

#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view image(reinterpret_cast<const char*>(data), size);
  const auto message = couplet::wire::decode_task_message(image);
  if (message && couplet::wire::encode_task_message(*message) != image) {
    std::abort();
  }
  return 0;
}
