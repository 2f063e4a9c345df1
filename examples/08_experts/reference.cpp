#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "layer.h"

namespace {

Matrix random_matrix(int rows, int columns, std::mt19937& random) {
  std::normal_distribution<float> values(0, 1 / std::sqrt(static_cast<float>(columns)));
  Matrix made;
  for (int i = 0; i < rows * columns; ++i)
    made.push_back(tilepost::from_float<tilepost::Bf16>(values(random)));
  return made;
}

// One row of a matrix whose rows have as many elements as x.
double dot(const std::vector<double>& x, const Matrix& matrix, int row) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i)
    sum += x[i] * tilepost::to_float(matrix[static_cast<size_t>(row) * x.size() + i]);
  return sum;
}

// Adds what an expert makes of a token, times the weight.
void add_expert(const Operands& owner, int expert, double weight, const std::vector<double>& token,
                std::vector<double>& sum) {
  std::vector<double> inner(kInner);
  for (int i = 0; i < kInner; ++i) {
    const int first = expert * 2 * kInner;
    const double gate = dot(token, owner.gate_up, first + i);
    inner[i] = gate / (1 + std::exp(-gate)) * dot(token, owner.gate_up, first + kInner + i);
  }
  for (int i = 0; i < kHidden; ++i) sum[i] += weight * dot(inner, owner.down, expert * kHidden + i);
}

}  // namespace

Operands random_operands(int rank) {
  std::mt19937 random(static_cast<unsigned>(rank));
  Operands made;
  made.tokens = kMostTokens - 10 * rank;
  made.hidden = random_matrix(made.tokens, kHidden, random);
  made.gate_up = random_matrix(kExpertsOfRank * 2 * kInner, kHidden, random);
  made.down = random_matrix(kExpertsOfRank * kHidden, kInner, random);
  std::vector<int> experts(kExperts);
  std::iota(experts.begin(), experts.end(), 0);
  for (int token = 0; token < made.tokens; ++token) {
    std::shuffle(experts.begin(), experts.end(), random);
    for (int i = 0; i < kTop; ++i) {
      made.ids.push_back(experts[i]);
      made.weights.push_back(1.0f / static_cast<float>(2 << i));
    }
  }
  return made;
}

double error_of(const std::vector<Operands>& ranks, int rank, const Matrix& out) {
  const Operands& own = ranks[rank];
  double error = 0, largest = 0;
  for (int token = 0; token < own.tokens; ++token) {
    std::vector<double> x(kHidden), sum(kHidden);
    for (int i = 0; i < kHidden; ++i) x[i] = tilepost::to_float(own.hidden[token * kHidden + i]);
    for (int i = 0; i < kTop; ++i) {
      const int expert = own.ids[token * kTop + i];
      add_expert(ranks[expert / kExpertsOfRank], expert % kExpertsOfRank,
                 own.weights[token * kTop + i], x, sum);
    }
    for (int i = 0; i < kHidden; ++i) {
      error = std::max(error, std::abs(tilepost::to_float(out[token * kHidden + i]) - sum[i]));
      largest = std::max(largest, std::abs(sum[i]));
    }
  }
  return error / largest;
}
