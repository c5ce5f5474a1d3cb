// Prints what src/cost/ makes of the pair model of a file, for a comparison with Python: a line PA PE SECONDS for each
// cell of a grid, with steps of a half.   usage: cost_model FILE ORDER KIND MAX_PA MAX_PE
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cost/pair_model.hpp"

int main(int count, char** arguments) {
  if (count != 6) return 2;
  std::ifstream file(arguments[1]);
  const auto json = nlohmann::json::parse(file);
  couplet::cost::PairModel model;
  for (const auto& piece : json.at("orders").at(arguments[2]).at("fits").at(arguments[3]).at("pieces")) {
    model.pieces.push_back({.min_pa = piece.at("min_pa"),
                            .max_pa = piece.at("max_pa"),
                            .alpha_s = piece.at("alpha"),
                            .beta_s = piece.at("beta"),
                            .gamma_s = piece.at("gamma")});
  }
  if (!model.is_complete()) return 1;
  const int max_pa = std::atoi(arguments[4]);
  const int max_pe = std::atoi(arguments[5]);
  for (int pa = 0; pa <= 2 * max_pa; ++pa) {
    for (int pe = 0; pe <= 2 * max_pe; ++pe) {
      std::printf("%.1f %.1f %.17g\n", pa / 2.0, pe / 2.0, model.seconds(pa / 2.0, pe / 2.0));
    }
  }
  return 0;
}
