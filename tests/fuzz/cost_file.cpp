// The cost file of a machine: any input is answered, and what is accepted leads to choices that are within bounds.
#include "runtime/cost_file.hpp"

#include <string_view>

#include "fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace couplet;
  const auto costs = runtime::costs_from_json({reinterpret_cast<const char*>(data), size}, "cost.json");
  if (!costs.ok()) {
    fuzzing::demand(costs.status().code() == Code::config);
    return 0;
  }
  const auto pieces = cost::method_pieces(*costs);
  fuzzing::demand(pieces.size() <= cost::max_method_pieces);
  for (const cost::CollectiveCurve& curve : costs->collectives) {
    const cost::CollectiveShape shape{
        .kind = curve.call, .bytes = size, .size = curve.members, .systems = curve.systems};
    fuzzing::demand(is_possible(choose_method(shape, pieces), shape));
  }
  for (const cost::LinkCurve& curve : costs->links) {
    static_cast<void>(cost::eager_limit(*costs, curve.link));
    const auto piece = cost::piece_size(*costs, curve.link);
    fuzzing::demand(!piece || *piece >= runtime::min_piece_bytes);
  }
  static_cast<void>(cost::streaming_limit(*costs));
  return 0;
}
