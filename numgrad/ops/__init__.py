"""Public functions on tensors: composites of the table's ops, and those made from the table. No kernels here."""

# ruff: noqa: F401, F403  (all functions here are public)
from types import FunctionType
from typing import TYPE_CHECKING, Any

from .activations import *
from .arithmetic import add, pow, rsub, sub, where
from .bounds import clamp, clamp_max, clamp_min, clip, nan_to_num
from .channel_normalization import *
from .combined import addcdiv, addcmul, allclose, equal, float_power, isclose, lerp, positive, square, xlogy
from .complex_numbers import (
    complex,
    conj,
    conj_physical,
    imag,
    is_conj,
    is_neg,
    isreal,
    polar,
    real,
    resolve_conj,
    resolve_neg,
    view_as_complex,
    view_as_real,
)
from .contractions import (
    addbmm,
    addmv,
    addr,
    baddbmm,
    cdist,
    chain_matmul,
    cross,
    dist,
    ger,
    inner,
    kron,
    outer,
    tensordot,
)
from .convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    convolution,
)
from .counting import bincount, bucketize, corrcoef, cov, histc, histogram, isin, searchsorted, unravel_index
from .dimensions import (
    adjoint,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_shapes,
    broadcast_tensors,
    broadcast_to,
    diagonal,
    moveaxis,
    movedim,
    ravel,
    swapaxes,
    swapdims,
    unflatten,
)
from .distances import cosine_similarity, pairwise_distance, pdist
from .dropout import (
    alpha_dropout,
    alpha_dropout_,
    dropout,
    dropout_,
    feature_alpha_dropout,
    feature_alpha_dropout_,
    feature_dropout,
    feature_dropout_,
    native_dropout,
)
from .einsum import einsum
from .embedding import embedding, embedding_renorm_
from .extrema import amax, amin, aminmax, argmax, argmin, max, min
from .folding import channel_shuffle, pixel_shuffle, pixel_unshuffle
from .indexing import index_put, index_put_
from .inspection import (
    get_device,
    is_complex,
    is_floating_point,
    is_nonzero,
    is_signed,
    is_storage,
    is_tensor,
    numel,
    result_type,
    typename,
)
from .linalg import addmm, bilinear, bmm, dot, matmul, mm, mv, vdot
from .memory import as_strided_, clone, detach, detach_, fill, fill_, is_same_size, resize_as_
from .methods import copied_in_place, in_place
from .normalization import layer_norm, native_layer_norm, rms_norm
from .numerical_gradient import *
from .older_linalg import *
from .ordering import (
    argsort,
    combinations,
    kthvalue,
    median,
    mode,
    msort,
    nanmedian,
    nanquantile,
    quantile,
    sort,
    topk,
    unique,
    unique_consecutive,
)
from .padding import constant_pad_nd
from .pooling import (
    adaptive_avg_pool1d,
    adaptive_max_pool1d,
    avg_pool1d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool3d,
)
from .probabilities import log_softmax, softmax
from .rearrangement import (
    block_diag,
    cartesian_prod,
    column_stack,
    diag,
    diag_embed,
    diagflat,
    dstack,
    flip,
    fliplr,
    flipud,
    hstack,
    meshgrid,
    repeat_interleave,
    roll,
    rot90,
    row_stack,
    tile,
    trace,
    tril,
    triu,
    vander,
    vstack,
)
from .recurrent import gru, gru_cell, lstm, lstm_cell, rnn_relu, rnn_relu_cell, rnn_tanh, rnn_tanh_cell
from .reductions import all, any, count_nonzero, mean, nanmean, nansum, prod, sum
from .rounding import copysign, div, floor_divide, fmod, heaviside, nextafter, remainder, round
from .sampling import (
    bernoulli,
    multinomial,
    normal,
    poisson,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
)
from .scans import cummax, cummin, cumprod, cumsum, cumulative_trapezoid, diff, logcumsumexp, trapezoid
from .scattering import gather, index_reduce, scatter, scatter_add, scatter_reduce, take_along_dim
from .selecting import (
    argwhere,
    index_add,
    index_copy,
    index_fill,
    index_select,
    masked_fill,
    masked_scatter,
    masked_select,
    nonzero,
    nonzero_static,
    put,
    take,
)
from .shaping import (
    as_strided,
    cat,
    concat,
    concatenate,
    flatten,
    narrow,
    permute,
    reshape,
    select,
    squeeze,
    stack,
    t,
    transpose,
    unsqueeze,
)
from .splitting import chunk, dsplit, hsplit, split, split_with_sizes, tensor_split, unbind, vsplit
from .statistics import logsumexp, norm, norm_except_dim, renorm, std, std_mean, var, var_mean
from .systems import cholesky_inverse, cholesky_solve
from .table import FUNCTIONS
from .view_copies import *
from .windows import *

if TYPE_CHECKING:  # the functions of the table have no names that a type checker could read

    def __getattr__(name: str) -> Any: ...


globals().update(FUNCTIONS)

clamp_, clamp_max_, clamp_min_, clip_ = in_place(clamp), in_place(clamp_max), in_place(clamp_min), in_place(clip)
nan_to_num_, round_, square_, xlogy_ = in_place(nan_to_num), in_place(round), in_place(square), in_place(xlogy)

addmv_ = copied_in_place(addmv)

divide = true_divide = div
subtract = sub
trapz = trapezoid

__all__ = [name for name, value in globals().items() if isinstance(value, FunctionType) and not name.startswith("_")]
