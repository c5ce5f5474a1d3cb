// A record of a file: for any bytes the decoder returns a record that encodes to these bytes, or none.
#include "wire/file_record.hpp"

#include <cstring>
#include <vector>

#include "fuzzing.hpp"

using namespace couplet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t count) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), count);
  const auto record = wire::decode_file_record(bytes);
  if (!record.ok()) {
    fuzzing::demand(record.code() == Code::not_yet || record.code() == Code::protocol ||
                    record.code() == Code::version);
    return 0;
  }
  const std::size_t whole = record->body_bytes + wire::file_record_added_bytes;
  fuzzing::demand(whole <= count);
  std::vector<std::byte> again(whole);
  wire::encode_file_record(*record, bytes.subspan(wire::file_header_bytes, record->body_bytes), again);
  fuzzing::demand(std::memcmp(again.data(), data, whole) == 0);
  return 0;
}
