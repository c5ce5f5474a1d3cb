#include "wire/page.hpp"

#include <cstring>

namespace couplet::wire {
namespace {

constexpr std::uint32_t other_byte_order = __builtin_bswap32(page_byte_order);

}  // namespace

Result<PageHeader> decode_page_header(std::span<const std::byte> page) {
  PageHeader header;
  if (page.size() < sizeof header) {
    return fail(Code::protocol, "a page of {} bytes is shorter than its header", page.size());
  }
  std::memcpy(&header, page.data(), sizeof header);
  if (header.magic != page_magic) {
    return fail(Code::protocol, "the file is not a process page");
  }
  if (header.byte_order == other_byte_order) {
    return fail(Code::version, "the process of this page has the other byte order");
  }
  if (header.byte_order != page_byte_order || header.version != page_version) {
    return fail(Code::version, "process page of version {} (byte order {:#x}), this library reads version {}",
                header.version, header.byte_order, page_version);
  }
  if (header.rank_count == 0 || header.rank_count > page_most_ranks || header.header_bytes != sizeof header ||
      header.page_bytes != page_bytes_for(header.rank_count) || header.page_bytes != page.size() ||
      header.knock_words != page_knock_words(header.rank_count) || header.knocks_offset != page_knocks_offset ||
      header.counters_offset != page_counters_offset || header.counter_count > page_counter_capacity ||
      header.program.back() != 0 || header.host.back() != 0) {
    return fail(Code::protocol, "the process page of peer {} has impossible sizes", header.peer);
  }
  return header;
}

}  // namespace couplet::wire
