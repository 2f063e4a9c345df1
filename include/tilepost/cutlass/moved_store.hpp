// A TMA store for CUTLASS's epilogues whose rows may be moved.
//
// The epilogue computes where a tile of D goes from the tile's coordinates. The fused operations
// need the same coordinates: a bias, for example, belongs to a row or column of the product. So D
// alone is to be moved. There is only one batch, so the coordinate of the batch is free, and
// carries the number of rows by which D moves. The store adds that number to the row, and the fused
// operations see batch 0.
#ifndef TILEPOST_CUTLASS_MOVED_STORE_HPP
#define TILEPOST_CUTLASS_MOVED_STORE_HPP

#include <cute/tensor.hpp>  // first: those below do not include what they need of it

#include <cute/arch/copy_sm90_tma.hpp>
#include <cute/atom/copy_traits_sm90_tma.hpp>
#include <cutlass/epilogue/fusion/callbacks.hpp>

#include "tilepost/cutlass/schedule.h"

namespace tilepost::cutlass {

// The store that replaces SM90_TMA_STORE.
struct MovedStore : cute::SM90_TMA_STORE {
  // Stores one box at column `x` and row `y` + `shift`.
  CUTE_HOST_DEVICE static void copy(const void* map, const void* box, int x, int y, int shift) {
    if (shift != kNowhere) cute::SM90_TMA_STORE_3D::copy(map, box, x, y + shift, 0);
  }
};

// The fused operations of an epilogue that stores with MovedStore: they see batch 0.
template <class Callbacks>
struct InOwnPlace : Callbacks {
  using Callbacks::Callbacks;

  template <bool kByCopy, class StoreArguments>
  CUTLASS_DEVICE auto get_consumer_store_callbacks(StoreArguments& arguments) {
    cute::get<3>(arguments.tile_coord_mnkl) = 0;
    return Callbacks::template get_consumer_store_callbacks<kByCopy>(arguments);
  }
};

// Whether the coordinates of a TMA store of D are, in this order, column, row and batch.
template <class TmaD>
constexpr bool stores_column_row_batch() {
  using Basis = cute::remove_cvref_t<decltype(TmaD{}.aux_params_.g_stride_)>;
  if constexpr (cute::rank_v<Basis> == 3)
    return cute::is_same_v<cute::remove_cvref_t<cute::tuple_element_t<0, Basis>>, cute::E<1>> &&
           cute::is_same_v<cute::remove_cvref_t<cute::tuple_element_t<1, Basis>>, cute::E<0>> &&
           cute::is_same_v<cute::remove_cvref_t<cute::tuple_element_t<2, Basis>>, cute::E<2>>;
  else
    return false;
}

}  // namespace tilepost::cutlass

namespace cute {

template <class Bits, class Aux>
struct Copy_Traits<::tilepost::cutlass::MovedStore, Bits, Aux>
    : Copy_Traits<SM90_TMA_STORE, Bits, Aux> {
  template <class From, class FromLayout, class To, class ToLayout>
  CUTE_HOST_DEVICE friend constexpr void copy_unpack(const Copy_Traits& traits,
                                                     const Tensor<From, FromLayout>& from,
                                                     Tensor<To, ToLayout>& to) {
    static_assert(is_smem<From>::value, "TMA stores from shared memory");
    const auto at = to.data().coord_;
    ::tilepost::cutlass::MovedStore::copy(traits.get_tma_descriptor(),
                                          raw_pointer_cast(from.data()), get<0>(at), get<1>(at),
                                          get<2>(at));
  }
};

}  // namespace cute

namespace cutlass::epilogue::fusion {

template <class Callbacks>
struct FusionCallbacksTraits<::tilepost::cutlass::InOwnPlace<Callbacks>>
    : FusionCallbacksTraits<Callbacks> {};

}  // namespace cutlass::epilogue::fusion

#endif  // TILEPOST_CUTLASS_MOVED_STORE_HPP
