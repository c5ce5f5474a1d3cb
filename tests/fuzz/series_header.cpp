// Headers of series files: everything that is decoded is inside the file.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "wire/series_format.hpp"

using namespace couplet::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  std::vector<std::byte> page(bytes < series_page_bytes ? series_page_bytes : bytes);
  std::transform(data, data + bytes, page.begin(), [](std::uint8_t byte) { return std::byte{byte}; });
  std::uint64_t file_bytes = 0;
  std::memcpy(&file_bytes, page.data() + 24, sizeof file_bytes);  // the one number that also comes from elsewhere
  const auto geometry = decode_series_header(page, file_bytes);
  if (geometry) {
    const bool inside =
        geometry->slots_offset + geometry->slot_count * geometry->slot_stride <= file_bytes &&
        geometry->step_bytes <= geometry->slot_stride &&
        geometry->readers_offset + geometry->reader_entries * sizeof(SeriesReaderEntry) <=
            geometry->slot_headers_offset &&
        geometry->slot_headers_offset + geometry->slot_count * sizeof(SeriesSlotHeader) <= geometry->slots_offset;
    if (!inside) {
      std::abort();
    }
  }
  return 0;
}
