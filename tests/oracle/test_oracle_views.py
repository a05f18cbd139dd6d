"""Views, in-place changes, `out=`, and the ops that pick or write along a dimension, against PyTorch's.

Values, strides, offsets, versions, node names, gradients of two orders, warnings and error texts.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import side_by_side

import numgrad

torch = pytest.importorskip("torch")

# x: (2, 3, 4), requires a gradient; y = x * 2; c: as x, without; s: 0-d; v: (6,); m: (2, 3).
VIEWS = """
x.H; m.H; x.mH; m.mH; x.adjoint(); v.adjoint(); s.adjoint(); v.mT; x.mT; x.T; s.T; v.H; s.H; s.mT; s.mH; torch.adjoint(x)
x.swapaxes(0,1); x.swapdims(0,1); torch.swapaxes(x,0,1); torch.swapdims(x,0,5); x.swapaxes(axis0=0,axis1=1); x.swapdims(dim0=0,dim1=1); x.movedim(0,1); x.movedim((0,1),(1,2)); x.moveaxis(0,-1); torch.movedim(x,0,5); torch.movedim(x,(0,0),(1,2)); torch.movedim(x,(0,1),(1,1)); torch.movedim(x,(0,1),(1,)); x.movedim(source=0,destination=2); s.movedim(0,0); x.movedim([0],[0])
x.transpose(0,3); x.transpose(0,0); s.transpose(0,0); s.transpose(-1,0); x.permute(0,1); x.permute(0,0,1); x.permute((2,0,1)); x.permute(dims=(2,0,1)); torch.permute(x,(2,0,1)); x.permute(3,0,1); x.t(); m.t(); v.t(); torch.t(m)
x.squeeze(); x[:1].squeeze(); x[:1].squeeze(0); x[:1].squeeze((0,1)); x.squeeze(0); x.squeeze(5); s.squeeze(0); s.squeeze(); x.squeeze((0,0)); x.squeeze(dim=()); x.unsqueeze(4); x.unsqueeze(-1); x.unsqueeze(-5); s.unsqueeze(0); x.t().unsqueeze(1)
x.expand(2,2,3,4); x.expand(-1,-1,-1); x.expand(-1,2,3,4); x.expand(3,3,4); v.expand(2,6); v.expand((2,6)); v.expand(2,-1); v.expand_as(c); s.expand(3); v.broadcast_to((2,6)); torch.broadcast_to(v,(2,6)); v.broadcast_to(size=(2,6)); v.broadcast_to((2,5)); torch.broadcast_tensors(v,m[:,:1]); torch.broadcast_tensors(v,m); torch.broadcast_tensors(); torch.broadcast_tensors(v); torch.broadcast_shapes((2,1),(3,)); torch.broadcast_shapes((2,),(3,)); torch.broadcast_shapes(2,(3,1)); torch.broadcast_shapes(); v.expand(size=(2,6)); v.expand(2,6,implicit=True)
x.narrow(0,0,1); x.narrow(1,-1,1); x.narrow(0,3,1); x.narrow(0,0,5); x.narrow(0,0,-1); s.narrow(0,0,0); x.narrow(5,0,1); x.narrow(0,torch.tensor(1),1); x.narrow(dim=0,start=0,length=1); torch.narrow(x,0,0,1); x.narrow(0,-3,1); x.narrow(0,2,0)
x.select(0,1); x.select(0,-3); x.select(3,0); s.select(0,0); torch.select(x,1,2); x.select(dim=0,index=1)
x.unbind(); x.unbind(1); x.unbind(3); s.unbind(); torch.unbind(x,-1); x.unbind(dim=2); c[:,:0].unbind(1); c.unbind()
x.split(2,1); x.split(5); x.split([1,1]); x.split((1,1),0); x.split([1,2]); x.split(-1); x.split(0); x.split(2,3); s.split(1); torch.split(x,1); torch.split(x,[1,2],1); x.split(split_size=2,dim=1); torch.split(tensor=x,split_size_or_sections=1); x.split([-1,3]); x.split(1.5); x.split_with_sizes([1,1]); torch.split_with_sizes(x,[1,1]); x.split_with_sizes([1,2,3],1); c[:,:0].split(2,1); c[:,:0].split(0,1); x.split(torch.tensor(1))
x.chunk(2); x.chunk(3,1); x.chunk(5,1); x.chunk(2,1); x.chunk(0); x.chunk(2,5); s.chunk(1); torch.chunk(x,2,-1); x.chunk(-1); c[:,:0].chunk(3,1); x.chunk(chunks=2,dim=2)
x.tensor_split(2); x.tensor_split(3,2); x.tensor_split((1,2),1); x.tensor_split([1],2); x.tensor_split(torch.tensor([1,2]),1); x.tensor_split(torch.tensor(2),1); x.tensor_split(0); s.tensor_split(2); x.tensor_split(2,5); x.tensor_split((5,1),1); x.tensor_split((-1,),1); torch.tensor_split(x,2); x.tensor_split(torch.tensor([1.])); x.tensor_split(torch.tensor([[1]])); torch.tensor_split(x,sections=2); torch.tensor_split(x,indices=(1,),dim=1)
x.hsplit(3); x.hsplit((1,2)); x.vsplit(2); x.dsplit(2); x.dsplit((1,)); v.hsplit(2); v.hsplit(4); v.vsplit(2); m.dsplit(1); s.hsplit(1); x.hsplit(2); x.vsplit(3); x.dsplit(3); torch.hsplit(x,3); torch.vsplit(x,2); torch.dsplit(x,2); torch.hsplit(x,[1]); x.hsplit(0)
x.diagonal(); x.diagonal(1); x.diagonal(-1,1,2); x.diagonal(0,0,0); v.diagonal(); s.diagonal(); x.diagonal(10); x.diagonal(-10); x.diagonal(0,0,3); torch.diagonal(m); x.diagonal(offset=1,dim1=1,dim2=2); m.diagonal(dim1=-1,dim2=0)
x.unfold(1,2,1); x.unfold(2,2,2); x.unfold(0,3,1); x.unfold(0,1,0); x.unfold(3,1,1); s.unfold(0,1,1); s.unfold(0,2,1); x.unfold(0,-1,1); x.unfold(dimension=1,size=2,step=1); x.unfold(2,4,1); v.unfold(0,0,1); x.unfold(1,2,-1)
x.flatten(); x.flatten(1); x.flatten(0,1); x.flatten(2,1); x.flatten(5); s.flatten(); x.flatten(1,1); y.transpose(0,1).flatten(); x.ravel(); torch.ravel(x); s.ravel(); v.ravel(); y.transpose(0,1).ravel(); x.flatten(start_dim=1,end_dim=-1); x.transpose(0,1).flatten(0,1); x.transpose(0,2).ravel()
x.unflatten(2,(2,2)); x.unflatten(2,(2,-1)); x.unflatten(-1,[2,2]); x.unflatten(2,(3,2)); x.unflatten(3,(2,2)); x.unflatten(2,()); torch.unflatten(x,1,(3,1)); x.unflatten(dim=2,sizes=(2,2)); x.unflatten(2,(3,-1)); y.transpose(0,2).unflatten(0,(2,2)); x.unflatten(2,4)
x.as_strided((2,2),(1,2)); x.as_strided((2,2),(1,2),1); x.as_strided((2,2),(1,)); x.as_strided((2,2),(-1,2)); x.as_strided((-1,2),(1,2)); x.as_strided((100,),(1,)); x.as_strided((2,),(1,),-1); torch.as_strided(x,(2,2),(1,2)); x.as_strided(size=(2,),stride=(1,),storage_offset=3); y[1].as_strided((2,2),(2,1)); x.as_strided((0,5),(1,1),24)
x.view(6,4); x.view(-1); x.view(-1,5); x.view(24,-1,-1); x.view((6,4)); x.view(size=(6,4)); y.transpose(0,1).view(6,4); x.view(0); x.view(-2,12); c[:0].view(-1,0); c[:0].view(0,-1); c[:0].view(5); s.view(1,1); s.view(()); v.view(2,3); x.view(2,3,4,1); x.view(torch.Size([6,4])); x.view([6,4]); x.reshape(6,4); x.reshape(-1); x.reshape((4,-1)); x.reshape(5); x.reshape(shape=(6,4)); y.transpose(0,1).reshape(6,4); torch.reshape(x,(6,4)); x.view_as(m); x.view_as(c); x.reshape_as(c); x.reshape(2,-1,-1); x.reshape(-1,0); s.reshape(1); x[:,:,:2].reshape(12); x[:,:,:2].view(2,3,2); c.expand(2,2,3,4).reshape(-1)
c.view(torch.int32); c.view(torch.float64); c.view(torch.int64); c.view(torch.uint8); c.view(torch.int16); v.view(torch.bool); x.view(torch.int32); x.view(torch.float32); c.transpose(0,1).view(torch.float64); c.transpose(0,2).view(torch.float64); c.transpose(0,2).view(torch.int16); c.transpose(0,2).view(torch.int32); s.view(torch.int16); s.view(torch.float64); s.view(torch.int32); v[1:].view(torch.float64); v[:5].view(torch.float64); c.view(dtype=torch.int32); torch.zeros(0,4).view(torch.float64); torch.zeros(3,3).view(torch.float64)
x.detach(); x.contiguous(); y.transpose(0,1).contiguous(); x.is_contiguous(); x.transpose(0,1).is_contiguous(); x.is_contiguous(memory_format=torch.contiguous_format); torch.zeros(2,3,4,5).is_contiguous(memory_format=torch.channels_last); torch.zeros(2,3,4,5).contiguous(memory_format=torch.channels_last); torch.zeros(2,3,4,5).clone(memory_format=torch.channels_last); x.contiguous(memory_format=torch.channels_last); x.clone(memory_format=torch.contiguous_format); x.transpose(0,1).clone(memory_format=torch.contiguous_format); x.transpose(0,1).clone(memory_format=torch.preserve_format); torch.clone(x)
torch.atleast_1d(s); torch.atleast_1d(x); torch.atleast_2d(v); torch.atleast_2d(s); torch.atleast_3d(v); torch.atleast_3d(m); torch.atleast_3d(s); torch.atleast_1d(s,v); torch.atleast_2d((s,v)); torch.atleast_3d(x,s); torch.atleast_1d([s])
x.untyped_storage().data_ptr()==x.view(-1)[3:].untyped_storage().data_ptr(); x.view(-1)[3:].data_ptr()-x.data_ptr(); x.untyped_storage().nbytes(); x.storage_offset(); x._base; x.view(-1)._base is x; x.view(-1)[1:]._base is x; x.is_set_to(x); x.is_set_to(x.view(-1)); x.detach().is_set_to(x); len(x.untyped_storage()); torch.zeros(2,4)[:,1].untyped_storage().nbytes(); x.view(-1)._is_view(); x.is_contiguous(); x.nbytes; x.element_size(); x.dim_order(); m.t().dim_order(); x.stride(0); x.stride(-1); x.stride(5); x.size(5); x.size(dim=1); x.stride(dim=1); x.is_same_size(c); x.is_same_size(m)
torch.unsqueeze(x,0); torch.squeeze(x,0); torch.transpose(x,0,1); torch.flatten(x,1)
"""

IN_PLACE_AND_OUT = """
y.squeeze_(); y[:1].squeeze_(0); y.unsqueeze_(0); y.transpose_(0,1); y.t_(); m.t_(); y.swapdims_(0,1); y.swapaxes_(0,1); x.unsqueeze_(0); y.as_strided_((2,),(1,)); y.squeeze_(5); y.squeeze_((0,1)); x.view(-1).unsqueeze_(0); x[:1].squeeze_(0); y[:1].transpose_(0,1)
c.resize_(3); c.resize_(2,3); x.resize_(3); y.resize_(3); c.resize_as_(m); c[0].resize_(2); c.resize_(2,3,4); c.resize_(24,memory_format=torch.contiguous_format)
c.set_(m); x.set_(m); c.set_(); c.set_(m.untyped_storage()); c.set_(m.untyped_storage(),1,(2,),(1,)); c.set_(source=m)
y.detach_(); y.requires_grad_(False); c.copy_(v[:4]); c.copy_(torch.ones(5)); c.copy_(3); c.long().copy_(c); y.copy_(v[:4]); y.fill_(2); y.zero_(); c.fill_(torch.ones(2)); x.zero_(); x.fill_(1); x.copy_(c); x.data.zero_(); c.expand(2,2,3,4).zero_(); c.expand(2,2,3,4).fill_(1); c.expand(2,2,3,4).copy_(c); c.expand(2,2,3,4).add_(1); torch.zero_(c); c.squeeze_().add_(1)
torch.add(c,c,out=torch.zeros(3)); torch.add(c,c,out=torch.zeros(0)); torch.add(c,c,out=torch.zeros(2,3,4,dtype=torch.int64)); torch.add(c,c,out=torch.zeros(2,3,4,dtype=torch.float64)); torch.add(c.long(),c.long(),out=torch.zeros(24)); torch.exp(c,out=torch.zeros(1)); torch.mul(x,2,out=c); torch.mul(c,2,out=x); torch.add(c,c,out=c); torch.add(c,c,out=torch.zeros(3,2,4).transpose(0,1)); torch.eq(c,c,out=torch.zeros(2,3,4)); torch.eq(c,c,out=torch.zeros(2,3,4,dtype=torch.uint8)); torch.exp(c,out=c)
torch.sum(c,0,out=torch.zeros(2)); torch.sum(c,0,out=torch.zeros(0)); torch.sum(x,0,out=torch.zeros(3,4)); torch.sum(c,0,out=torch.zeros(3,4,dtype=torch.int64)); torch.mean(c,0,out=torch.zeros(0)); torch.mean(c,0,out=torch.zeros(0,dtype=torch.float64)); torch.matmul(m,m.t(),out=torch.zeros(0)); torch.mm(m,m.t(),out=torch.zeros(2,2,dtype=torch.float64)); torch.mm(m,m.t(),out=torch.zeros(5)); torch.bmm(c,c.transpose(1,2),out=torch.zeros(0)); torch.mv(m,v[:3],out=torch.zeros(0)); torch.dot(v,v,out=torch.zeros(())); torch.addmm(m[:,:2],m,m.t(),out=torch.zeros(0)); torch.matmul(x,x.transpose(1,2),out=torch.zeros(0))
torch.cat((m,m),out=torch.zeros(0)); torch.cat((m,m),1,out=torch.zeros(2,6)); torch.cat((m,m),out=torch.zeros(2)); torch.cat((m,m),out=torch.zeros(4,3,dtype=torch.int64)); torch.cat((m,m),out=torch.zeros(4,3,dtype=torch.float64)); torch.cat((m,m.double()),out=torch.zeros(4,3)); torch.cat((x,x),out=torch.zeros(0)); torch.cat((m,m),out=m); torch.stack((m,m),out=torch.zeros(0)); torch.stack((m,m),1,out=torch.zeros(2,2,3)); torch.stack((m,m),out=torch.zeros(2,2,3,dtype=torch.int64)); torch.stack((x,x),out=torch.zeros(0)); torch.stack((m,m),out=torch.zeros(2)); torch.concat((m,m)); torch.concatenate((m,m),axis=1); torch.cat(tensors=(m,m),dim=1)
torch.gather(m,0,torch.zeros(1,3).long(),out=torch.zeros(0)); torch.index_select(m,0,torch.tensor([0]),out=torch.zeros(0)); torch.scatter(m,0,torch.zeros(1,3).long(),m,out=torch.zeros(0)); torch.scatter_add(m,0,torch.zeros(1,3).long(),m,out=torch.zeros(5)); torch.index_add(m,0,torch.tensor([0]),m[:1],out=torch.zeros(0)); torch.masked_select(m,m>1,out=torch.zeros(0)); torch.take(m,torch.tensor([0]),out=torch.zeros(0)); torch.where(m>1,m,m,out=torch.zeros(0)); torch.gather(x,0,torch.zeros(1,3,4).long(),out=torch.zeros(0)); torch.index_copy(m,0,torch.tensor([0]),m[:1],out=torch.zeros(0)); torch.scatter_reduce(m,0,torch.zeros(1,3).long(),m,'sum',out=torch.zeros(0)); torch.take_along_dim(m,torch.zeros(1,3).long(),0,out=torch.zeros(0))
"""

# x: (3, 4) and v: (2, 4) require gradients; c: as x, without; i: a vector of indices, I: (2, 4) of them, m: a mask; s: 0-d.
PICKS = """
torch.gather(c, 1, I, out=c[:2]); torch.take(c, i, out=c[0, :2]); torch.index_select(c, 0, i, out=c[:2]); torch.masked_select(c, c < 3, out=c[0, :3])
torch.gather(c, 1, I, out=s.expand(2, 4)); torch.cat([c, c], out=s.expand(6, 4)); torch.cat([c[:1], c[:1]], out=c[:2]); torch.kthvalue(c, 2, 1, out=(c.view(-1)[:3], torch.ones(3, dtype=torch.long)))
torch.arange(3, out=torch.empty(0)); torch.arange(3, out=torch.empty(2)); torch.arange(4, out=torch.empty(2, 2)); torch.arange(3.5, out=torch.empty(0, dtype=torch.long)); torch.arange(3, out=v.detach().requires_grad_()); torch.arange(3, out=torch.empty(3), dtype=torch.long); torch.aminmax(c, out=(torch.empty(0), torch.empty(0)))[1]
torch.hstack([c, c], out=torch.empty(2)); torch.diag(c, out=torch.empty(0)); torch.cumsum(c, 0, out=torch.empty(1, dtype=torch.float64))
x.gather(0,I); x.gather(1,I); x.gather(1,I[:,:2]); x.gather(2,I); x.gather(0,I.int()); x.gather(0,I.float()); x.gather(0,I+5); x.gather(0,-I); x.gather(1,torch.zeros(4,2,dtype=torch.long)); s.gather(0,torch.tensor(0)); s.gather(0,torch.tensor([0,0])); x.gather(0,torch.zeros(0,dtype=torch.long)); x.t().gather(0,torch.zeros(4,3,dtype=torch.long).t()[:,:3])
x.scatter(0,I,v); x.scatter(0,I,2.0); c.scatter(0,I,2.0,reduce='mul'); c.scatter(0,I,c.double()); c.scatter(0,I,c[:1]); c.scatter(0,I.int(),c); c.scatter(0,I.float(),c); c.scatter(3,I,c); c.scatter(0,I+3,c); c.scatter(0,I-5,1.0); c.scatter(0,I,s); c.scatter(0,I[:,:2],c); c.scatter(1,torch.zeros(4,1,dtype=torch.long),c); c.scatter(0,torch.zeros(0,dtype=torch.long),c); s.scatter(0,torch.tensor(0),5.); s.scatter(0,torch.tensor(0),s)
x.scatter_add(0,I,v); x.scatter_add(0,I,v.double()); c.scatter_add(0,I+9,v); c.scatter_add(0,I,c[:1])
x.scatter_reduce(0,I,v,'sum'); x.scatter_reduce(0,I,v,reduce='prod'); x.scatter_reduce(0,I,v,'mean',include_self=False); x.scatter_reduce(0,I,v,'amax'); x.scatter_reduce(0,I,v,'amin'); x.scatter_reduce(0,I,v,'foo'); c.scatter_reduce(0,I,c.double(),'sum'); c.scatter_reduce(0,I+7,c,'sum'); c.scatter_reduce(0,I,v,None)
x.index_select(0,i); x.index_select(1,i); x.index_select(0,i.int()); x.index_select(0,i.float()); x.index_select(0,I); x.index_select(0,i+3); x.index_select(2,i); x.index_select(0,torch.tensor(1)); s.index_select(0,torch.tensor(0)); s.index_select(0,torch.tensor([0,0])); x.index_select(0,-i); x.t().index_select(0,i); x.index_select(0,torch.tensor([],dtype=torch.long))
x.index_add(0,i,v); x.index_add(0,i,v,alpha=2); x.index_add(1,i,v); x.index_add(0,i,v.double()); x.index_add(0,i.int(),v); x.index_add(0,i.float(),v); x.index_add(0,I,v); x.index_add(0,i+7,v); c.long().index_add(0,i,v.detach().long(),alpha=1.5); x.index_add(0,i,v[:,:3]); x.t().index_add(1,i,v.t()); x.index_add(3,i,v); x.index_add(0,i,v[:1]); x.index_add(0,-i,v)
x.index_copy(0,i,v); x.index_copy(1,i,v); x.index_copy(0,i,v.double()); x.index_copy(0,i.int(),v); x.index_copy(0,I,v); x.index_copy(0,i+7,v); x.index_copy(0,-i,v); x.index_copy(0,i,v[:,:3]); x.index_copy(0,torch.tensor(1),v[:1]); x.index_copy(5,i,v); x.index_copy(0,i,s); x.index_copy(0,torch.tensor([1]),s)
x.index_fill(0,i,2.0); x.index_fill(0,i,s); x.index_fill(0,i,v); x.index_fill(0,i.int(),1.); x.index_fill(0,I,1.); x.index_fill(0,i+9,1.); x.index_fill(4,i,1.); x.index_fill(0,-i,1.); c.long().index_fill(0,i,1.5); c.index_fill(0,i,1j); s.index_fill(0,torch.tensor(0),3.); x.index_fill(0,i,s.requires_grad_()); x.index_fill(0,torch.tensor([],dtype=torch.long),1.)
x.masked_fill(m,1.0); x.masked_fill(m,s); x.masked_fill(m,v); x.masked_fill(m[0],1); x.masked_fill(m.long(),1); x.masked_fill(m[:,:2],1); c[0].masked_fill(m,1); c.masked_fill(m,1j); c.long().masked_fill(m,1.5); c.masked_fill(m,s.double()); x.masked_fill(m,torch.tensor([1.])); c[0].clone().masked_fill_(m,1); x.t().masked_fill(m.t(),1.)
x.masked_select(m); x.masked_select(m.long()); x[0].masked_select(m); x.masked_select(m[:,:2]); s.masked_select(torch.tensor(True)); s.masked_select(torch.tensor([True,False])); x.t().masked_select(m.t())
x.masked_scatter(m,c); x.masked_scatter(m,v); x.masked_scatter(m.long(),c); x.masked_scatter(m,c.double()); x.masked_scatter(m[0],c); c[0].masked_scatter(m,c); x.masked_scatter(m[:,:2],c)
x.take(i); x.take(I); x.take(i.int()); x.take(i+20); x.take(-i); s.take(i*0); x.take(torch.tensor(3)); x.t().take(i); torch.zeros(0).take(i); x.take(i.float())
torch.take_along_dim(x,I[:, :1],1); torch.take_along_dim(x,I,0); torch.take_along_dim(x,i); torch.take_along_dim(x,I[:,:1].int(),1); x.take_along_dim(i,1); x.take_along_dim(I[:,:1]+9,1); x.take_along_dim(I.float(),0); torch.take_along_dim(x,I[:1],0)
c.clone().put_(i,v.detach()[0,:2]); x.put(i,v[0,:2]); x.put(i,v[0,:2],accumulate=True); x.put(i.int(),v[0,:2]); x.put(i+30,v[0,:2]); x.put(i,v[0,:2].double()); x.put(-i,v[0,:2])
c.nonzero(); c.nonzero(as_tuple=True); s.nonzero(); s.nonzero(as_tuple=True); torch.argwhere(c); torch.where(m); torch.where(s); torch.where(c); c.t().nonzero(); torch.nonzero(c,out=torch.zeros(0)); c.argwhere(); torch.argwhere(s)
c.nonzero().tolist(); x.clone().scatter_(0, I, v); x.clone().scatter_(0, I, 2.0); x.clone().scatter_add_(0, I, v); x.clone().index_add_(0, i, v, alpha=2)
x.clone().scatter_reduce_(0, I, v, 'amax'); x.clone().index_copy_(0, i, v); x.clone().index_fill_(0, i, 3.0); x.clone().masked_fill_(m, 1.0)
x.clone().masked_scatter_(m, c); x.clone().put_(i, v[0, :2]); x.scatter_add_(0, I, v); x.index_fill_(0, i, 1.0); x.masked_fill_(m, 1.0); x[0].index_add_(0, i, v[0, :2])
(x * 2)[:, 1:3].scatter_add_(0, I[:, :2], v[:, :2]); (x * 2)[1].index_fill_(0, i, 0.0); (x * 2).expand(2, 3, 4).scatter_(0, I[None], v[None])
c.scatter_(0, I, c); c.index_add_(0, i, c[:2]); c.index_copy_(0, i, c[1:]); c.put_(i, c[0, :2]); c.expand(2, 3, 4).index_fill_(0, i[:1], 1.0); c.masked_fill_(c > 1, 0.0)
x.scatter_reduce(0, I, v * 0, 'prod'); (x * 0).scatter_reduce(0, I, v, 'prod'); x.scatter_reduce(0, I, v * 9, 'amax')
x.scatter_reduce(0, I, v, 'prod', include_self=False); x.scatter_reduce(0, I, v, 'sum', include_self=False); x.scatter_reduce(0, I, v, 'mean'); c.long().scatter_reduce(0, I, c[:2].long(), 'mean')
(x > 3).scatter_add(0, I, v > 0); c.long().scatter_add(0, I, c[:2].long()); c.int().index_add(0, i, c[:2].int())
"""

RULES = """
x=leaf();y=x*2;a,b=y.unbind(0);a.add_(1)
x=leaf();y=x*2;a,b=y.unbind(0);b.view(1).add_(1)
x=leaf();y=x*2;a,b=y.unbind(0);y.add_(1);out=b.grad_fn
x=leaf();y=x*2;a,b=y.split(1);y.add_(1);out=b*2
x=leaf();y=x*2;a,b=y.split(1);y.add_(1);out=b
y=torch.ones(2);a,b=y.split(1);a.add_(1);out=y
y=torch.ones(2);a,b=y.split(1);a.mul_(leaf()[:1]);out=y
x=leaf();y=x*2⏎with torch.no_grad(): v=y[:1]⏎y.add_(1);out=v.grad_fn
x=leaf();y=x*2⏎with torch.no_grad(): v=y[:1]⏎y.add_(1);out=v*2
x=leaf();y=x*2⏎with torch.no_grad(): a,b=y.unbind(0)⏎a.add_(1)
x=leaf();y=x*2;a,b=y.chunk(2);a.add_(1)
x=leaf();y=x*2;a,b=y.tensor_split(2);a.add_(1);out=y,a
x=leaf();y=x*2;a,b=y.split([1,1]);out=(a,b.grad_fn,b.output_nr,a.is_leaf)
x=leaf();a,b=x.unbind();a.add_(1)
x=leaf();y=x*2;a,b=y.unbind(0)⏎with torch.no_grad(): a.add_(1)⏎out=a.grad_fn
x=leaf();y=x*2;a,b=y.unbind(0)⏎with torch.no_grad(): a.add_(1)⏎(a*b).sum().backward();out=x.grad
x=leaf();y=x*2;a,b=y.unbind(0);y.detach().add_(1);out=a.grad_fn
x=leaf();y=x*2;a,b=y.unbind(0);y.detach().add_(1);(y+a).sum().backward();out=x.grad
x=leaf()⏎with torch.no_grad(): v=x[:1];v.add_(1);out=v,x
y=torch.ones(2)⏎with torch.no_grad(): v=y[:1]⏎y.mul_(leaf());out=v.requires_grad
y=torch.ones(2)⏎with torch.no_grad(): v=y[:1]⏎y.mul_(leaf());out=v.grad_fn
y=torch.ones(2);a,b=y.unbind(0)⏎y.mul_(leaf());out=a
"""


def scope_of(library: ModuleType) -> dict[str, Any]:
    values = library.from_numpy(np.arange(24.0, dtype=np.float32))
    x = values.reshape(2, 3, 4).clone().requires_grad_()
    return {
        "torch": library,
        "x": x,
        "y": x * 2,
        "c": x.detach().clone(),
        "s": library.tensor(1.0),
        "v": values[:6].clone(),
        "m": values[:6].clone().reshape(2, 3),
        "leaves": [x],
    }


def picks_scope_of(library: ModuleType) -> dict[str, Any]:
    x = library.from_numpy(np.arange(12.0, dtype=np.float32)).reshape(3, 4).clone().requires_grad_()
    v = library.ones(2, 4).requires_grad_()
    return {
        "torch": library,
        "x": x,
        "v": v,
        "c": x.detach().clone(),
        "s": library.tensor(1.0),
        "i": library.tensor([0, 2]),
        "I": library.tensor([[0, 1, 2, 0], [2, 0, 0, 1]]),
        "m": x.detach() > 3,
        "leaves": [x, v],
    }


def described(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return type(x).__name__, [described(item) for item in x]
    if not hasattr(x, "requires_grad"):
        return repr(x)
    strides = x.stride() if x.numel() else "any"
    return repr(x), tuple(x.shape), strides, x.storage_offset(), x._is_view(), x._version, x.is_leaf


def gradients(library: ModuleType, found: Any, leaves: list[Any]) -> list[Any]:
    """First gradients of the results for the leaves, and second ones for the weights."""
    roots = [r for r in (found if isinstance(found, tuple) else (found,)) if getattr(r, "requires_grad", False)]
    roots = [r for r in roots if r.grad_fn is not None and r.numel()]
    if not roots:
        return []
    weights = []
    for r in roots:
        values = np.arange(1.0, r.numel() + 1, dtype=np.float32).reshape(tuple(r.shape))
        weights.append(library.from_numpy(values).requires_grad_())
    first = library.autograd.grad(roots, leaves, weights, create_graph=True, allow_unused=True)
    results = [None if g is None else g.tolist() for g in first]
    recorded = [(g * g).sum() for g in first if g is not None and g.requires_grad]
    if recorded:
        second = library.autograd.grad(recorded, weights, allow_unused=True)
        results += [None if g is None else g.tolist() for g in second]
    return results


def outcome(library: ModuleType, code: str, scope: dict[str, Any]) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = eval(code, scope)
            result: Any = described(found), gradients(library, found, scope["leaves"])
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    return side_by_side.neutral(repr(result)), {side_by_side.neutral(str(w.message)) for w in caught}


def expressions(text: str) -> list[str]:
    return [e.strip() for line in text.strip().splitlines() for e in line.split(";")]


@pytest.fixture(autouse=True)
def every_warning() -> Iterator[None]:
    """PyTorch's own warnings each time, not once in a process."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


@pytest.mark.parametrize("code", expressions(VIEWS))
def test_views(code: str) -> None:
    assert outcome(numgrad, code, scope_of(numgrad)) == outcome(torch, code, scope_of(torch))


@pytest.mark.parametrize("code", expressions(IN_PLACE_AND_OUT))
def test_in_place_and_out(code: str) -> None:
    assert outcome(numgrad, code, scope_of(numgrad)) == outcome(torch, code, scope_of(torch))


@pytest.mark.parametrize("code", expressions(PICKS))
def test_picks(code: str) -> None:
    assert outcome(numgrad, code, picks_scope_of(numgrad)) == outcome(torch, code, picks_scope_of(torch))


@pytest.mark.parametrize("snippet", side_by_side.snippets(RULES))
def test_rules_of_views(snippet: str) -> None:
    """Which views may be written: those of several at once, those made under no_grad, and their views."""
    assert side_by_side.shown(numgrad, snippet) == side_by_side.shown(torch, snippet)


def as_strided_gradients(library: ModuleType, layout: Any, source: Any, seed: Any, weights: Any) -> list[Any]:
    """A layout over a part of a storage: the view, its gradient, and the second one for the seed."""
    x = library.arange(40, dtype=library.float64).sin().as_strided(*source).detach().requires_grad_()
    v = library.from_numpy(seed).requires_grad_()
    view = x.as_strided(*layout)
    (first,) = library.autograd.grad(view, x, v, create_graph=True)
    (second,) = library.autograd.grad(first, v, library.from_numpy(weights))
    return [view.detach().numpy(), first.detach().numpy(), second.numpy()]


@pytest.mark.parametrize("seed", range(40))
def test_as_strided_over_part_of_a_storage(seed: int) -> None:
    """Layouts that reach before and beyond the input's items, overlap, and over inputs that overlap themselves.

    PyTorch's second gradient is NaN where the first one does not depend on anything: there ours is 0.
    """
    rng = np.random.default_rng(seed)

    def layout() -> tuple[tuple[int, ...], tuple[int, ...], int]:
        rank = int(rng.integers(0, 4))
        return tuple(map(int, rng.integers(1, 4, rank))), tuple(map(int, rng.integers(0, 6, rank))), int(rng.integers(9))

    chosen, source = layout(), layout()
    values = rng.normal(size=chosen[0]), rng.normal(size=source[0])
    values = tuple(np.asarray(x) for x in values)
    found = as_strided_gradients(numgrad, chosen, source, *values)
    for mine, theirs in zip(found, as_strided_gradients(torch, chosen, source, *values), strict=True):
        np.testing.assert_allclose(mine, np.where(np.isnan(theirs), 0, theirs), rtol=1e-12, atol=1e-14)


ROWS = side_by_side.snippets("""
x = torch.arange(6.).reshape(2, 3)⏎out = [(r, r._is_view(), r._base is x, r.storage_offset(), r.stride(), r._version) for r in x]
x = torch.arange(6.).reshape(2, 3)⏎out = [(r.tolist(), r.stride(), r.storage_offset()) for y in (x[1].expand(2, 3), x.t(), x[:, 1:], x[1:], x[:0], torch.empty(2, 0), torch.arange(3)) for r in y]
x = torch.arange(6.).reshape(2, 3)⏎for r in x[:, 1:]: r.mul_(2)⏎out = x, x._version
x = torch.arange(6.).reshape(2, 3)⏎w = torch.ones(3, requires_grad=True)⏎r = next(iter(x))⏎r.mul_(w)
x = torch.arange(6.).reshape(2, 3)⏎w = torch.ones(3, requires_grad=True)⏎r = next(iter(x))⏎x.mul_(w)⏎out = r.requires_grad, r
x = torch.ones(2, 3, requires_grad=True)⏎out = [(r.grad_fn.name(), r.output_nr) for r in x]
x = torch.ones(2, 3, requires_grad=True)⏎with torch.no_grad():⏎    r = next(iter(x))⏎    r.mul_(2)⏎out = r.requires_grad, x
x = torch.ones(2, 3, requires_grad=True)⏎with torch.no_grad():⏎    r = next(iter(x))⏎r.mul_(2)
x = torch.ones(2, 3)⏎with torch.inference_mode():⏎    rs = list(x)⏎out = [r.is_inference() for r in rs]
out = list(torch.tensor(1.))
out = next(iter(torch.tensor(1.)))
""")


@pytest.mark.parametrize("snippet", ROWS)
def test_rows_of_a_tensor(snippet):
    assert side_by_side.shown(numgrad, snippet) == side_by_side.shown(torch, snippet)
