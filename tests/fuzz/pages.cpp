// Smaller decoders of bytes from outside, chosen by the first byte: a process's page, a rendezvous envelope.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "wire/message.hpp"
#include "wire/page.hpp"

using namespace couplet::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  switch (data[0] % 2) {
    case 0: {
      std::vector<std::byte> page(8192);  // aligned, as a mapped file is
      std::memcpy(page.data(), bytes.data(), std::min(bytes.size(), page.size()));
      static_cast<void>(decode_page_header(page));
      break;
    }
    default:
      static_cast<void>(decode_envelope(bytes));
  }
  return 0;
}
