// Notices about collective calls: any input is answered, and what is accepted is encoded to a notice that is the same.
#include <string_view>

#include "fuzzing.hpp"
#include "wire/collective.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace couplet;
  const auto notice = wire::decode_collective_notice({reinterpret_cast<const char*>(data), size});
  if (!notice.ok()) return 0;
  const auto again = wire::decode_collective_notice(wire::encode_collective_notice(*notice));
  fuzzing::demand(again.ok());
  fuzzing::demand(again->kind == notice->kind && again->call == notice->call && again->epoch == notice->epoch);
  fuzzing::demand(again->systems == notice->systems && again->table == notice->table);
  return 0;
}
